from datetime import UTC, datetime
from typing import Any

from django.db import migrations, models
from django.db.models import OuterRef, Q, Subquery

import console.common.clock
from console.common.triggers import set_aside

drop_triggers, make_triggers = set_aside()
GONE = "no longer in the node"  # how a card that had left was marked until now


def begin(apps: Any, editor: Any) -> None:
    """A card is there since its node is, and one that had left is retired since it was found missing."""
    node, device, outage = (apps.get_model("inventory", name) for name in ("Node", "Device", "Outage"))
    device.objects.update(added_at=Subquery(node.objects.filter(pk=OuterRef("node_id")).values("created_at")[:1]))
    now = datetime.now(UTC)
    gone = device.objects.filter(state="faulty", state_reason=GONE)
    for row in gone:
        fault = outage.objects.filter(device=row, kind="faulty", ended_at=None).first()
        row.retired_at = fault.started_at if fault else now
        row.save(update_fields=["retired_at"])
        outage.objects.create(device=row, kind="retired", reason=GONE, started_at=row.retired_at)
        if fault:
            outage.objects.filter(pk=fault.pk).update(ended_at=now)


class Migration(migrations.Migration):
    dependencies = [("inventory", "0005_mig_mode")]
    operations = [
        drop_triggers,
        migrations.RemoveConstraint(model_name="outage", name="outage_of_node_or_device"),
        migrations.AddField(
            model_name="device",
            name="added_at",
            field=models.DateTimeField(default=console.common.clock.now, editable=False),
        ),
        migrations.AddField(
            model_name="device",
            name="retired_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="outage",
            name="kind",
            field=models.CharField(
                choices=[
                    ("unreachable", "Unreachable"),
                    ("faulty", "Fault"),
                    ("cordoned", "Cordoned"),
                    ("draining", "Draining"),
                    ("retired", "Retired"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="device",
            constraint=models.CheckConstraint(
                condition=Q(retired_at__isnull=True) | Q(state="faulty"), name="device_retired_unusable"
            ),
        ),
        migrations.AddConstraint(
            model_name="outage",
            constraint=models.CheckConstraint(
                condition=Q(node__isnull=False, device__isnull=True, kind__in=("unreachable", "cordoned", "draining"))
                | Q(node__isnull=True, device__isnull=False, kind__in=("faulty", "cordoned", "retired")),
                name="outage_of_node_or_device",
            ),
        ),
        make_triggers,
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]
