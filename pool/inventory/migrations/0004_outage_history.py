from datetime import UTC, datetime
from typing import Any

from django.db import migrations

from pool.inventory.triggers import install_outages


def begin(apps: Any, editor: Any) -> None:
    """What is out of use now is known to be so from now on; what was before, nobody wrote down."""
    node, device, outage = (apps.get_model("inventory", name) for name in ("Node", "Device", "Outage"))
    now = datetime.now(UTC)
    rows = [outage(node=row, kind="unreachable", started_at=now) for row in node.objects.filter(reachable=False)]
    rows += [outage(node=row, kind=row.state, started_at=now) for row in node.objects.exclude(state="ready")]
    rows += [
        outage(device=row, kind=row.state, reason=row.state_reason, started_at=now)
        for row in device.objects.exclude(state="ready")
    ]
    outage.objects.bulk_create(rows, batch_size=500)


class Migration(migrations.Migration):
    dependencies = [("inventory", "0003_outage")]
    operations = [
        migrations.RunPython(install_outages, migrations.RunPython.noop),
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]
