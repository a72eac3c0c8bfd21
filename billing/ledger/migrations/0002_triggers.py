from django.db import migrations

from billing.ledger.triggers import install


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
