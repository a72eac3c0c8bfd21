from typing import Any

from django.db import migrations, models

import pool.inventory.naming
from console.common.triggers import set_aside

drop_triggers, make_triggers = set_aside()


def fill(apps: Any, editor: Any) -> None:
    node = apps.get_model("inventory", "Node")
    rows = list(node.objects.only("name"))
    for row in rows:
        row.name_key = pool.inventory.naming.natural_key(row.name)
    node.objects.bulk_update(rows, ["name_key"], batch_size=400)


class Migration(migrations.Migration):
    dependencies = [("inventory", "0006_device_life")]
    operations = [
        drop_triggers,
        migrations.AddField(
            model_name="node",
            name="name_key",
            field=pool.inventory.naming.NaturalKey(default="", editable=False, source="name"),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["name_key", "id"], name="node_by_name"),
        ),
        make_triggers,
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
