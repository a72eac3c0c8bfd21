"""Raw SQL sessions of their own, for what the database itself must refuse."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def session() -> Iterator[Any]:
    """A DB-API connection beside Django's, to the same test database, with manual commit."""
    if connection.vendor == "sqlite":
        raw = sqlite3.connect(str(connection.settings_dict["NAME"]), timeout=10, isolation_level=None)
        raw.execute("PRAGMA foreign_keys=ON")
    else:
        import psycopg

        raw = psycopg.connect(**connection.get_connection_params(), autocommit=True)
    try:
        yield raw
    finally:
        raw.close()


def run(raw: Any, sql: str, params: tuple[Any, ...] = ()) -> None:
    raw.execute(sql if connection.vendor != "sqlite" else sql.replace("%s", "?"), params)
