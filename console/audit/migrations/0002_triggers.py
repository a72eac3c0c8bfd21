from django.db import migrations

from console.audit.triggers import install


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
