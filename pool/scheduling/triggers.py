"""The database itself refuses a double use (I1).

Counters per device and node are kept by these triggers and bounded by CHECK constraints, so that the row lock
of the UPDATE serialises writers. A trigger that sums rows would oversell on PostgreSQL. MIG slots are bits that
are set only where they were clear. A card in MIG mode holds slices only, another none; its mode cannot change under
what it holds (pool/inventory/triggers.py).
"""

from typing import Any

from console.common.triggers import Trigger, install_postgresql, install_sqlite

_MASK = "(((1 << {r}.mig_size) - 1) << (CASE WHEN {r}.mig_start < 0 THEN 0 ELSE {r}.mig_start END))"
_FROZEN_ALLOCATION = (
    "replica_id, job_id, tenant_id, node_id, device_id, isolation, share_bp, memory_mib, mig_profile, mig_start,"
    " mig_size, cpu_milli, host_memory_mib, epoch, created_at"
)
_FROZEN_INTERVAL = (
    "allocation_id, number, started_at, job_id, tenant_id, project_id, queue_id, site_id, device_id, model_name,"
    " vendor, isolation, share_bp, memory_mib, device_memory_mib, mig_profile, compute_num, compute_den,"
    " memory_num, memory_den"
)


def _device_update(row: str, sign: str, slots: str) -> str:
    return (
        f"UPDATE inventory_device SET used_share_bp = used_share_bp {sign} {row}.share_bp,"
        f" used_memory_mib = used_memory_mib {sign} {row}.memory_mib,"
        f" live_shared = live_shared {sign} (CASE WHEN {row}.isolation = 'mig' THEN 0 ELSE 1 END),"
        f" live_mig = live_mig {sign} (CASE WHEN {row}.isolation = 'mig' THEN 1 ELSE 0 END),"
        f" mig_slots = {slots} WHERE id = {row}.device_id"
    )


def _node_update(row: str, sign: str) -> str:
    return (
        f"UPDATE inventory_node SET used_cpu_milli = used_cpu_milli {sign} {row}.cpu_milli,"
        f" used_memory_mib = used_memory_mib {sign} {row}.host_memory_mib, version = version + 1"
        f" WHERE id = {row}.node_id"
    )


def _take(row: str) -> str:
    return _device_update(row, "+", f"mig_slots | {_MASK.format(r=row)}")


def _give(row: str) -> str:
    return _device_update(row, "-", f"mig_slots & ~{_MASK.format(r=row)}")


SQLITE = [
    Trigger(
        "weir_allocation_taken",
        "scheduling_allocation",
        "AFTER INSERT ON scheduling_allocation WHEN NEW.released_at IS NULL BEGIN"
        " SELECT RAISE(ABORT, 'device is not on this node') WHERE NEW.device_id IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM inventory_device WHERE id = NEW.device_id AND node_id = NEW.node_id);"
        " SELECT RAISE(ABORT, 'the MIG mode of the device is another') FROM inventory_device"
        " WHERE id = NEW.device_id AND mig_enabled <> (NEW.isolation = 'mig');"
        " SELECT RAISE(ABORT, 'MIG slots are already held') FROM inventory_device"
        f" WHERE id = NEW.device_id AND (mig_slots & {_MASK.format(r='NEW')}) <> 0;"
        f" {_take('NEW')}; {_node_update('NEW', '+')}; END",
    ),
    Trigger(
        "weir_allocation_given",
        "scheduling_allocation",
        "AFTER UPDATE OF released_at ON scheduling_allocation"
        " WHEN OLD.released_at IS NULL AND NEW.released_at IS NOT NULL BEGIN"
        f" {_give('NEW')}; {_node_update('NEW', '-')}; END",
    ),
    Trigger(
        "weir_allocation_release_once",
        "scheduling_allocation",
        "BEFORE UPDATE OF released_at ON scheduling_allocation WHEN OLD.released_at IS NOT NULL BEGIN"
        " SELECT RAISE(ABORT, 'an allocation is released once'); END",
    ),
    Trigger(
        "weir_allocation_frozen",
        "scheduling_allocation",
        f"BEFORE UPDATE OF {_FROZEN_ALLOCATION} ON scheduling_allocation BEGIN"
        " SELECT RAISE(ABORT, 'an allocation is never edited'); END",
    ),
    Trigger(
        "weir_allocation_deleted",
        "scheduling_allocation",
        "BEFORE DELETE ON scheduling_allocation WHEN OLD.released_at IS NULL BEGIN"
        " SELECT RAISE(ABORT, 'a live allocation is released, not deleted'); END",
    ),
    Trigger(
        "weir_interval_closed_once",
        "scheduling_interval",
        "BEFORE UPDATE OF ended_at, end_reason, closed_at ON scheduling_interval WHEN OLD.ended_at IS NOT NULL"
        " BEGIN SELECT RAISE(ABORT, 'an interval is closed once'); END",
    ),
    Trigger(
        "weir_interval_frozen",
        "scheduling_interval",
        f"BEFORE UPDATE OF {_FROZEN_INTERVAL} ON scheduling_interval BEGIN"
        " SELECT RAISE(ABORT, 'an interval is never edited'); END",
    ),
    Trigger(
        "weir_interval_kept",
        "scheduling_interval",
        "BEFORE DELETE ON scheduling_interval BEGIN SELECT RAISE(ABORT, 'an interval is never deleted'); END",
    ),
]


def _refuse(text: str) -> str:
    return f"BEGIN RAISE EXCEPTION '{text}' USING ERRCODE = 'integrity_constraint_violation'; END"


# once a statement: one update of a table for all cards of a placement, however many. A slot that two of its rows want
# makes the sum of their bits another than the bits.
_TAKEN = f"""
DECLARE wanted bigint; held bigint;
BEGIN
    WITH taken AS (
        SELECT device_id, node_id, sum(share_bp) AS share_bp, sum(memory_mib) AS memory_mib,
               count(*) FILTER (WHERE isolation <> 'mig') AS shared, count(*) FILTER (WHERE isolation = 'mig') AS mig,
               bit_or({_MASK.format(r="a")}) AS slots, sum({_MASK.format(r="a")}) AS total
        FROM added a WHERE released_at IS NULL AND device_id IS NOT NULL GROUP BY device_id, node_id
    ), changed AS (
        UPDATE inventory_device d SET used_share_bp = used_share_bp + t.share_bp,
               used_memory_mib = used_memory_mib + t.memory_mib, live_shared = live_shared + t.shared,
               live_mig = live_mig + t.mig, mig_slots = mig_slots | t.slots
        FROM taken t WHERE d.id = t.device_id AND d.node_id = t.node_id AND t.slots = t.total
               AND mig_slots & t.slots = 0 AND (CASE WHEN d.mig_enabled THEN t.shared ELSE t.mig END) = 0
        RETURNING 1
    ) SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM changed) INTO wanted, held;
    IF wanted <> held THEN
        RAISE EXCEPTION 'MIG slots are already held, the MIG mode of the device is another, or it is not on this node'
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    UPDATE inventory_node n SET used_cpu_milli = used_cpu_milli + t.cpu_milli,
           used_memory_mib = used_memory_mib + t.memory_mib, version = version + t.parts
    FROM (SELECT node_id, sum(cpu_milli) AS cpu_milli, sum(host_memory_mib) AS memory_mib, count(*) AS parts
          FROM added WHERE released_at IS NULL GROUP BY node_id) t WHERE n.id = t.node_id;
    RETURN NULL;
END"""

POSTGRESQL = [
    Trigger(
        "weir_allocation_taken",
        "scheduling_allocation",
        "AFTER INSERT",
        _TAKEN,
        added="added",
    ),
    Trigger(
        "weir_allocation_given",
        "scheduling_allocation",
        "AFTER UPDATE OF released_at",
        "BEGIN IF OLD.released_at IS NOT NULL THEN RAISE EXCEPTION 'an allocation is released once'"
        " USING ERRCODE = 'integrity_constraint_violation'; END IF;"
        " IF NEW.released_at IS NULL THEN RETURN NULL; END IF;"
        f" IF NEW.device_id IS NOT NULL THEN {_give('NEW')}; END IF;"
        f" {_node_update('NEW', '-')}; RETURN NULL; END",
    ),
    Trigger(
        "weir_allocation_frozen",
        "scheduling_allocation",
        f"BEFORE UPDATE OF {_FROZEN_ALLOCATION}",
        _refuse("an allocation is never edited"),
    ),
    Trigger(
        "weir_allocation_deleted",
        "scheduling_allocation",
        "BEFORE DELETE",
        "BEGIN IF OLD.released_at IS NOT NULL THEN RETURN OLD; END IF;"
        " RAISE EXCEPTION 'a live allocation is released, not deleted'"
        " USING ERRCODE = 'integrity_constraint_violation'; END",
    ),
    Trigger(
        "weir_interval_closed_once",
        "scheduling_interval",
        "BEFORE UPDATE OF ended_at, end_reason, closed_at",
        "BEGIN IF OLD.ended_at IS NULL THEN RETURN NEW; END IF;"
        " RAISE EXCEPTION 'an interval is closed once' USING ERRCODE = 'integrity_constraint_violation'; END",
    ),
    Trigger(
        "weir_interval_frozen",
        "scheduling_interval",
        f"BEFORE UPDATE OF {_FROZEN_INTERVAL}",
        _refuse("an interval is never edited"),
    ),
    Trigger(
        "weir_interval_kept",
        "scheduling_interval",
        "BEFORE DELETE",
        _refuse("an interval is never deleted"),
    ),
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, SQLITE)
    else:
        install_postgresql(editor, POSTGRESQL)
