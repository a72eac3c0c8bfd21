from django.db import migrations

from billing.catalog.triggers import install


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
