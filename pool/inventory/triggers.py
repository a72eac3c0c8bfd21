"""Node.version rises with every change that placement must know of, whoever makes it."""

from typing import Any

from console.common.triggers import Trigger, install_postgresql, install_sqlite

_NODE_COLUMNS = "state, reachable, cpu_milli, memory_mib, site_id, pod_id, switch_id, rack_id, labels"
_DEVICE_COLUMNS = "state, mig_enabled, memory_mib, model_id, nvlink_island"
_BUMP = "UPDATE inventory_node SET version = version + 1 WHERE id = {row}.{column};"

SQLITE = [
    Trigger(
        "weir_node_version",
        "inventory_node",
        f"AFTER UPDATE OF {_NODE_COLUMNS} ON inventory_node BEGIN {_BUMP.format(row='NEW', column='id')} END",
    ),
    Trigger(
        "weir_device_version",
        "inventory_device",
        f"AFTER UPDATE OF {_DEVICE_COLUMNS} ON inventory_device BEGIN {_BUMP.format(row='NEW', column='node_id')} END",
    ),
    Trigger(
        "weir_device_added",
        "inventory_device",
        f"AFTER INSERT ON inventory_device BEGIN {_BUMP.format(row='NEW', column='node_id')} END",
    ),
    Trigger(
        "weir_device_removed",
        "inventory_device",
        f"AFTER DELETE ON inventory_device BEGIN {_BUMP.format(row='OLD', column='node_id')} END",
    ),
]

POSTGRESQL = [
    Trigger(
        "weir_node_version",
        "inventory_node",
        f"BEFORE UPDATE OF {_NODE_COLUMNS}",
        "BEGIN NEW.version := OLD.version + 1; RETURN NEW; END",
    ),
    Trigger(
        "weir_device_version",
        "inventory_device",
        f"AFTER UPDATE OF {_DEVICE_COLUMNS}",
        f"BEGIN {_BUMP.format(row='NEW', column='node_id')} RETURN NULL; END",
    ),
    Trigger(
        "weir_device_added",
        "inventory_device",
        "AFTER INSERT",
        f"BEGIN {_BUMP.format(row='NEW', column='node_id')} RETURN NULL; END",
    ),
    Trigger(
        "weir_device_removed",
        "inventory_device",
        "AFTER DELETE",
        f"BEGIN {_BUMP.format(row='OLD', column='node_id')} RETURN NULL; END",
    ),
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, SQLITE)
    else:
        install_postgresql(editor, POSTGRESQL)
