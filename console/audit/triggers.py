"""The audit log is append-only: the database refuses UPDATE and DELETE of its entries."""

from typing import Any

from console.common.triggers import Trigger, install_postgresql, install_sqlite

_REFUSE = "BEGIN RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'integrity_constraint_violation'; END"
SQLITE = [
    Trigger(
        f"weir_audit_no_{verb.lower()}",
        "audit_auditentry",
        f"BEFORE {verb} ON audit_auditentry BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
    )
    for verb in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    Trigger(f"weir_audit_no_{verb.lower()}", "audit_auditentry", f"BEFORE {verb}", _REFUSE)
    for verb in ("UPDATE", "DELETE")
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, SQLITE)
    else:
        install_postgresql(editor, POSTGRESQL)
