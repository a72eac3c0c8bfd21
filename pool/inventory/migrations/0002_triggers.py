from django.db import migrations

from pool.inventory.triggers import install


class Migration(migrations.Migration):
    dependencies = [("inventory", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
