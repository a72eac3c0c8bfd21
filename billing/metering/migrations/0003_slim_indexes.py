"""An index that another begins with is not needed; writing it was (docs/decisions/0014)."""

import django.db.models.deletion
from django.db import migrations, models

from console.common.indexes import without_indexes

_LOSE: dict[str, list[str]] = {
    'usagerecord': ['interval', 'queue', 'site', 'tenant'],
}


class Migration(migrations.Migration):
    dependencies = [
        ('inventory', '0006_device_life'),
        ('metering', '0002_triggers'),
        ('scheduling', '0005_mig_mode'),
        ('tenants', '0001_initial'),
    ]

    operations = [
        without_indexes(
            'metering',
            _LOSE,
            [
                migrations.AlterField(
                    'usagerecord',
                    'interval',
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='usage_records', to='scheduling.interval'),
                ),
                migrations.AlterField(
                    'usagerecord',
                    'queue',
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scheduling.queue'),
                ),
                migrations.AlterField(
                    'usagerecord',
                    'site',
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inventory.site'),
                ),
                migrations.AlterField(
                    'usagerecord',
                    'tenant',
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
                ),
            ],
        ),
    ]
