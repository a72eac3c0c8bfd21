from django.db import migrations, models

from console.common.triggers import set_aside
from pool.inventory.triggers import install_labels

_before, _after = set_aside()


class Migration(migrations.Migration):
    """Cards have labels of their own, and placement learns of every change of them."""

    dependencies = [("inventory", "0008_hardware")]

    operations = [
        _before,
        migrations.AddField("device", "labels", models.JSONField(blank=True, default=dict)),
        _after,
        migrations.RunPython(install_labels, migrations.RunPython.noop),
    ]
