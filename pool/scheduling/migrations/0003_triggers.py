from django.db import migrations

from pool.scheduling.triggers import install


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0002_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
