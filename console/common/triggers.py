"""Installs database triggers from plain SQL, on both databases.

SQLite drops a table's triggers when a later migration rebuilds the table: such a migration calls the room's
`install` again, and tests/common/test_triggers.py fails if one is missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.backends.base.schema import BaseDatabaseSchemaEditor


@dataclass(frozen=True, slots=True)
class Trigger:
    """`body` follows CREATE TRIGGER name; for PostgreSQL, `function` is the PL/pgSQL body that it executes."""

    name: str
    table: str
    body: str
    function: str = ""


def install_sqlite(editor: BaseDatabaseSchemaEditor, triggers: Iterable[Trigger]) -> None:
    for trigger in triggers:
        editor.execute(f"DROP TRIGGER IF EXISTS {trigger.name}")
        editor.execute(f"CREATE TRIGGER {trigger.name} {trigger.body}")


def install_postgresql(editor: BaseDatabaseSchemaEditor, triggers: Iterable[Trigger]) -> None:
    for trigger in triggers:
        editor.execute(
            f"CREATE OR REPLACE FUNCTION {trigger.name}() RETURNS trigger LANGUAGE plpgsql AS $weir$\n"
            f"{trigger.function}\n$weir$",
            params=None,
        )
        editor.execute(f"DROP TRIGGER IF EXISTS {trigger.name} ON {trigger.table}", params=None)
        editor.execute(
            f"CREATE TRIGGER {trigger.name} {trigger.body} ON {trigger.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {trigger.name}()",
            params=None,
        )
