from django.db import migrations

from billing.invoices.triggers import install


class Migration(migrations.Migration):
    dependencies = [("invoices", "0001_initial")]
    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
