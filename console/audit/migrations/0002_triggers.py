from django.db import migrations

from console.audit.triggers import install
from console.common.migrating import Hook


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [Hook(install, Hook.noop)]
