"""Installs database triggers from plain SQL, on both databases.

SQLite drops a table's triggers when a later migration rebuilds the table, and refuses the rebuild while triggers of
other tables name it: such a migration stands between the two operations of `set_aside`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from console.common.migrating import Hook


@dataclass(frozen=True, slots=True)
class Trigger:
    """`body` follows CREATE TRIGGER name; for PostgreSQL, `function` is the PL/pgSQL body that it executes.

    With `added`, on PostgreSQL, it runs once a statement, whose new rows are the table of this name.
    """

    name: str
    table: str
    body: str
    function: str = ""
    added: str = ""


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
        scope = f"REFERENCING NEW TABLE AS {trigger.added} FOR EACH STATEMENT" if trigger.added else "FOR EACH ROW"
        editor.execute(
            f"CREATE TRIGGER {trigger.name} {trigger.body} ON {trigger.table} "
            f"{scope} EXECUTE FUNCTION {trigger.name}()",
            params=None,
        )


def set_aside() -> tuple[Hook, Hook]:
    """(before, after) for a migration that changes tables: SQLite's triggers go, and come back as they were."""
    kept: list[tuple[str, str]] = []

    def drop(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        if editor.connection.vendor != "sqlite":
            return
        with editor.connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            kept[:] = cursor.fetchall()
        for name, _ in kept:
            editor.execute(f'DROP TRIGGER "{name}"')

    def make(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        for _, statement in kept:
            editor.execute(statement, params=None)

    return Hook(drop, make), Hook(make, drop)
