from django.db import migrations

from billing.metering.triggers import install


class Migration(migrations.Migration):
    dependencies = [("metering", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
