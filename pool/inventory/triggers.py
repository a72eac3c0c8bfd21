"""Node.version rises with every change that placement must know of, whoever makes it; the MIG mode of a card stays
while anything is held of it; outages are append-only.
"""

from typing import Any

from console.common.triggers import Trigger, install_postgresql, install_sqlite

_NODE_COLUMNS = "state, reachable, cpu_milli, memory_mib, site_id, pod_id, switch_id, rack_id, labels"
_DEVICE_COLUMNS = "state, mig_enabled, memory_mib, model_id, nvlink_island"
_LABELLED_COLUMNS = f"{_DEVICE_COLUMNS}, labels"  # since migration 0009
_HELD = "NEW.mig_enabled <> OLD.mig_enabled AND (NEW.live_shared <> 0 OR NEW.live_mig <> 0)"
_MODE = "MIG mode changes only while nothing is held of the device"
_BUMP = "UPDATE inventory_node SET version = version + 1 WHERE id = {row}.{column};"


def _device_version(columns: str) -> tuple[Trigger, Trigger]:
    """For SQLite and for PostgreSQL."""
    name, bump = "weir_device_version", _BUMP.format(row="NEW", column="node_id")
    return (
        Trigger(name, "inventory_device", f"AFTER UPDATE OF {columns} ON inventory_device BEGIN {bump} END"),
        Trigger(name, "inventory_device", f"AFTER UPDATE OF {columns}", f"BEGIN {bump} RETURN NULL; END"),
    )


SQLITE = [
    Trigger(
        "weir_node_version",
        "inventory_node",
        f"AFTER UPDATE OF {_NODE_COLUMNS} ON inventory_node BEGIN {_BUMP.format(row='NEW', column='id')} END",
    ),
    _device_version(_DEVICE_COLUMNS)[0],
    Trigger(
        "weir_device_mig_mode",
        "inventory_device",
        f"BEFORE UPDATE OF mig_enabled ON inventory_device WHEN {_HELD} BEGIN SELECT RAISE(ABORT, '{_MODE}'); END",
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
    _device_version(_DEVICE_COLUMNS)[1],
    Trigger(
        "weir_device_mig_mode",
        "inventory_device",
        "BEFORE UPDATE OF mig_enabled",
        f"BEGIN IF {_HELD} THEN RAISE EXCEPTION '{_MODE}' USING ERRCODE = 'integrity_constraint_violation'; END IF;"
        " RETURN NEW; END",
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


_OUTAGE_FACTS = "node_id, device_id, kind, reason, started_at"
_OUTAGE_RULES = (
    ("weir_outage_frozen", f"BEFORE UPDATE OF {_OUTAGE_FACTS}", "TRUE", "an outage is never edited"),
    ("weir_outage_ends_once", "BEFORE UPDATE OF ended_at", "OLD.ended_at IS NOT NULL", "an outage ends once"),
    ("weir_outage_kept", "BEFORE DELETE", "TRUE", "an outage is never deleted"),
)

OUTAGES_SQLITE = [
    Trigger(
        name,
        "inventory_outage",
        f"{event} ON inventory_outage WHEN {when} BEGIN SELECT RAISE(ABORT, '{why}'); END",
    )
    for name, event, when, why in _OUTAGE_RULES
]

OUTAGES_POSTGRESQL = [
    Trigger(
        name,
        "inventory_outage",
        event,
        f"BEGIN IF {when} THEN RAISE EXCEPTION '{why}' USING ERRCODE = 'integrity_constraint_violation'; END IF;"
        f" RETURN {'OLD' if 'DELETE' in event else 'NEW'}; END",
    )
    for name, event, when, why in _OUTAGE_RULES
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, SQLITE)
    else:
        install_postgresql(editor, POSTGRESQL)


def install_labels(apps: Any, editor: Any) -> None:
    """RunPython hook: a change of a card's labels counts too."""
    sqlite, postgresql = _device_version(_LABELLED_COLUMNS)
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, [sqlite])
    else:
        install_postgresql(editor, [postgresql])


def install_outages(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, OUTAGES_SQLITE)
    else:
        install_postgresql(editor, OUTAGES_POSTGRESQL)
