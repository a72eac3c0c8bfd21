"""Stamps rows of a bench as they are committed, from outside of the product."""

import threading
import time
from collections.abc import Iterator
from typing import Any


class Observer(threading.Thread):
    """Stamps jobs and their placements as they are committed.

    What it takes of the two cores is missing to what it observes: PostgreSQL tells it of a commit, and on SQLite it
    looks every two milliseconds while anything that was sent is not seen placed.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.jobs: dict[str, float] = {}
        self.placed: dict[str, float] = {}
        self.awaited: set[str] = set()
        self.wanted = threading.Event()
        self.stopping = False
        self.ready = threading.Event()

    def expect(self, name: str) -> None:
        self.awaited.add(name)
        self.wanted.set()

    def run(self) -> None:
        connection = session()
        told = _told if type(connection).__module__.startswith("psycopg") else _looked
        names: dict[int, str] = {}
        early: dict[int, float] = {}
        for kind, pk, text in told(connection, self):
            now = time.perf_counter()
            if kind == "job":
                names[pk] = text
                self.jobs[text] = now
                if pk in early:
                    self._place(text, early.pop(pk))
            elif pk in names:
                self._place(names[pk], now)
            else:
                early[pk] = now

    def _place(self, name: str, at: float) -> None:
        self.placed.setdefault(name, at)
        self.awaited.discard(name)


_TELL = """
CREATE OR REPLACE FUNCTION bench_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'scheduling_job' THEN PERFORM pg_notify('bench', 'job ' || NEW.id || ' ' || NEW.name);
    ELSE PERFORM pg_notify('bench', 'attempt ' || NEW.job_id || ' '); END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER bench_tell AFTER INSERT ON scheduling_job FOR EACH ROW EXECUTE FUNCTION bench_tell();
CREATE OR REPLACE TRIGGER bench_tell AFTER INSERT ON scheduling_attempt FOR EACH ROW EXECUTE FUNCTION bench_tell();
LISTEN bench;
"""


def _told(connection: Any, observer: Observer) -> Iterator[tuple[str, int, str]]:
    """What PostgreSQL tells of the new rows of a transaction once that is committed, hence flushed to its log.

    The two triggers are this bench's, and what they cost is part of what is measured."""
    connection.execute(_TELL)
    observer.ready.set()
    while not observer.stopping:
        for notice in connection.notifies(timeout=0.5):
            kind, pk, text = notice.payload.split(" ", 2)
            yield kind, int(pk), text


def _looked(connection: Any, observer: Observer) -> Iterator[tuple[str, int, str]]:
    """New rows of SQLite, which commits one transaction at a time: rows appear in the order of their keys."""
    tables = ("scheduling_job", "scheduling_attempt")
    last = [connection.execute(f"SELECT COALESCE(MAX(id), 0) FROM {table}").fetchone()[0] for table in tables]
    statement = (
        "SELECT 0, id, id, name FROM scheduling_job WHERE id > ?"
        " UNION ALL SELECT 1, id, job_id, '' FROM scheduling_attempt WHERE id > ?"
    )
    observer.ready.set()
    while not observer.stopping:
        for table, pk, job, text in connection.execute(statement, last).fetchall():
            last[table] = max(last[table], pk)
            yield ("attempt" if table else "job"), job, text
        if not observer.awaited:
            observer.wanted.clear()
            if not observer.awaited:  # nobody came in between
                observer.wanted.wait(0.5)
        time.sleep(0.002)


def session() -> Any:
    """A bare driver connection."""
    from django.conf import settings

    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite"):
        import sqlite3

        return sqlite3.connect(database["NAME"], isolation_level=None, timeout=30)
    import psycopg

    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    given = {names[key]: value for key, value in database.items() if key in names and value}
    return psycopg.connect(autocommit=True, **given)
