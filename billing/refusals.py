"""Triggers by which the database itself refuses a change of the books, on both databases."""

from collections.abc import Iterable
from typing import Any

from console.common.triggers import Trigger, install_postgresql, install_sqlite


def refuse(
    name: str, table: str, verb: str, why: str, when: str = "", when_postgresql: str = ""
) -> tuple[Trigger, Trigger]:
    """(SQLite, PostgreSQL) triggers that refuse `verb` on `table`, where the SQL condition `when` holds.

    `when` may use OLD and NEW, and becomes the condition of an IF in PostgreSQL unless that needs its own.
    """
    guard = f" WHEN {when}" if when else ""
    sqlite = f"BEFORE {verb} ON {table}{guard} BEGIN SELECT RAISE(ABORT, '{why}'); END"
    row = "OLD" if verb == "DELETE" else "NEW"
    function = (
        f"BEGIN IF {when_postgresql or when or 'TRUE'} THEN RAISE EXCEPTION '{why}'"
        f" USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN {row}; END"
    )
    return Trigger(name, table, sqlite), Trigger(name, table, f"BEFORE {verb}", function)


def install(editor: Any, pairs: Iterable[tuple[Trigger, Trigger]]) -> None:
    """For a RunPython hook."""
    if editor.connection.vendor == "sqlite":
        install_sqlite(editor, [pair[0] for pair in pairs])
    else:
        install_postgresql(editor, [pair[1] for pair in pairs])
