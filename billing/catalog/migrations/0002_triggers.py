from django.db import migrations

from billing.catalog.triggers import install
from console.common.migrating import Hook


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]
    operations = [Hook(install, Hook.noop)]
