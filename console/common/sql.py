"""Plain statements for the hot paths, where compiling a query takes ten times as long as running it.

While a transaction of SQLite is open nobody else can write, so what news of a replica costs there is written by hand.
Table and column names are those of the models; tests of both databases run every statement.
"""

from datetime import datetime
from typing import Any

from django.db import connection


def execute(statement: str, *values: Any) -> int:
    """How many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, _adapted(values))
        return int(cursor.rowcount)


def fetch(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Timestamps come as the driver gives them: `console.common.bulk.read_datetime` reads both kinds."""
    with connection.cursor() as cursor:
        cursor.execute(statement, _adapted(values))
        return list(cursor.fetchall())


def first(statement: str, *values: Any) -> tuple[Any, ...] | None:
    rows = fetch(statement, *values)
    return rows[0] if rows else None


def marks(values: Any) -> str:
    """ "%s, %s, %s" for an IN list."""
    return ", ".join(["%s"] * len(values))


def _adapted(values: tuple[Any, ...]) -> list[Any]:
    adapt = connection.ops.adapt_datetimefield_value
    return [adapt(value) if isinstance(value, datetime) else value for value in values]
