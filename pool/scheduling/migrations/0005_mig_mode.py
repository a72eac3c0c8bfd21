from django.db import migrations

from pool.scheduling.triggers import install


class Migration(migrations.Migration):
    """Existing databases get the present triggers. What is held in the wrong mode already may end: decision 0008."""

    dependencies = [("scheduling", "0004_job_history_indexes")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
