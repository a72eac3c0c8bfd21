"""For tests that play the attacker with the database password."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper


@contextmanager
def without_triggers(connection: BaseDatabaseWrapper, table: str) -> Iterator[None]:
    """The triggers of `table` are off inside, and as they were after it."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
            yield
            cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')
            return
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _, sql in triggers:
            cursor.execute(sql)
