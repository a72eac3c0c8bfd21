"""Emptying the database after a test that commits: what Django's flush does, for the few tables that hold rows.

Django's own way costs PostgreSQL a new file for each table and index (TRUNCATE), SQLite a DELETE from each table, and
both the content types and permissions, which it deletes and then makes again.
"""

from functools import cache

from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction

# as migrations leave them; no test changes them
KEPT = {"django_content_type", "auth_permission"}


def empty() -> None:
    """Leaves each table as a flush would; whoever still writes is waited for. Forgets nothing of this process."""
    if connection.vendor == "sqlite":
        _sqlite()
    elif _may_replicate():
        _postgres()
    else:  # a server of the developer's own, where we are not its superuser
        call_command("flush", verbosity=0, interactive=False)


@cache
def tables() -> tuple[str, ...]:
    models = apps.get_models(include_auto_created=True)
    found = {model._meta.db_table for model in models if model._meta.managed and not model._meta.proxy}
    return tuple(sorted(found - KEPT))


def _with_rows(names: tuple[str, ...]) -> list[str]:
    asked = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return [name for (name,) in cursor.fetchall()]


@cache
def _may_replicate() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('is_superuser') = 'on'")
        return bool(cursor.fetchone()[0])


def _postgres() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # as TRUNCATE does: what another connection has not committed yet is waited for
        names = ", ".join(f'"{name}"' for name in tables())
        cursor.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
        # neither foreign keys nor the triggers of append-only tables are asked
        cursor.execute("SET LOCAL session_replication_role = replica")
        for name in _with_rows(tables()):
            cursor.execute(f'DELETE FROM "{name}"')


def _sqlite() -> None:
    """Append-only tables refuse DELETE: their triggers are taken off for that moment."""
    with transaction.atomic(), connection.cursor() as cursor:
        full = _with_rows(tables())
        cursor.execute("SELECT name, sql, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        triggers = [(name, text) for name, text, table in cursor.fetchall() if table in full]
        for name, _ in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        for name in full:
            cursor.execute(f'DELETE FROM "{name}"')
        for _, text in triggers:
            cursor.execute(text)
