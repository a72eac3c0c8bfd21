"""Drops indexes that only cost: each change of a row touches all of them.

An index of a foreign key that another index begins with, and PostgreSQL's second index of a unique text for LIKE
'prefix%', which no query of an opaque id asks. Without rebuilding tables, as Django's own operation does on SQLite.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from console.common.migrating import Hook


def without_indexes(
    app: str, fields: Mapping[str, Sequence[str]], state: Sequence[Any]
) -> migrations.operations.base.Operation:
    """A migration's operation: `fields` by model lose their own index; `state` are Django's words for the same."""

    def drop(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        for name, lose in fields.items():
            model = apps.get_model(app, name)
            for index in _names(editor, model, lose):
                editor.execute(f"DROP INDEX {editor.quote_name(index)}", params=None)

    forward = migrations.RunPython(drop, migrations.RunPython.noop)
    return migrations.SeparateDatabaseAndState(database_operations=[forward], state_operations=list(state))


def _names(editor: BaseDatabaseSchemaEditor, model: Any, fields: Sequence[str]) -> list[str]:
    own = {index.name for index in model._meta.indexes}
    columns = [[model._meta.get_field(field).column] for field in fields]
    with editor.connection.cursor() as cursor:
        found = editor.connection.introspection.get_constraints(cursor, model._meta.db_table)
    return [
        name
        for name, facts in found.items()
        if facts["index"]
        and not facts["unique"]
        and name not in own
        and (facts["columns"] in columns or name.endswith("_like"))
    ]


def never_prefixed(*tables: str) -> Hook:
    """A migration's operation: `tables`, which it has just made, get no index for LIKE 'prefix%' on PostgreSQL.

    Django makes indexes when all of a migration is done; until then they are only noted.
    """

    def forget(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        noted = editor.deferred_sql
        editor.deferred_sql = [made for made in noted if "_pattern_ops" not in str(made) or not _of(made, tables)]

    return Hook(forget, Hook.noop)


def _of(statement: Any, tables: Sequence[str]) -> bool:
    return any(statement.references_table(table) for table in tables)
