from django.db import migrations

from pool.inventory.triggers import install


class Migration(migrations.Migration):
    """Existing databases get the present triggers. What is held in the wrong mode already may end: decision 0008."""

    dependencies = [("inventory", "0004_outage_history")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
