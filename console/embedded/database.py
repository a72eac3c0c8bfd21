"""What SQLite must be set to before any process of ours may use it."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

SQLITE = frozenset({"console.common.sqlite", "django.db.backends.sqlite3"})  # ours, and the one that it builds on


def refuse_deferred(databases: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises ImproperlyConfigured for an SQLite database without IMMEDIATE transactions or without WAL.

    A DEFERRED transaction that reads and then writes fails with "database is locked" as soon as another wrote in
    between, whatever the timeout: 577 of 800 did in our trial, none with IMMEDIATE.
    """
    for alias, settings in databases.items():
        if settings.get("ENGINE") not in SQLITE:
            continue
        options: Mapping[str, Any] = settings.get("OPTIONS") or {}
        mode = str(options.get("transaction_mode") or "DEFERRED").upper()
        if mode != "IMMEDIATE":
            raise ImproperlyConfigured(
                f"DATABASES[{alias!r}]: SQLite must use transaction_mode IMMEDIATE, not {mode}: "
                "concurrent writers would fail with 'database is locked'."
            )
        if "journal_mode=wal" not in str(options.get("init_command") or "").lower().replace(" ", ""):
            raise ImproperlyConfigured(
                f"DATABASES[{alias!r}]: SQLite must use PRAGMA journal_mode=WAL: "
                "otherwise each write stops every reader."
            )


def ask(connection: BaseDatabaseWrapper, seconds: int = 5) -> None:
    """Connects once without the pool, which would try in silence for half a minute. Raises OperationalError."""
    if connection.vendor != "postgresql":
        return
    import psycopg  # 20 MB that no process needs on SQLite

    try:
        psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": seconds}).close()
    except psycopg.Error as error:
        raise OperationalError(str(error)) from error
