"""Stamps rows of a bench as they are committed, from outside of the product."""

import threading
import time
from typing import Any


class Observer(threading.Thread):
    """Stamps committed rows as they appear. It looks every two milliseconds, with one prepared statement, while
    anything that was sent is not seen placed: what it takes of the two cores is missing to what it observes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.jobs: dict[str, float] = {}
        self.placed: dict[str, float] = {}
        self.awaited: set[str] = set()
        self.wanted = threading.Event()
        self.stopping = False

    def expect(self, name: str) -> None:
        self.awaited.add(name)
        self.wanted.set()

    def run(self) -> None:
        rows = Newest(session())
        names: dict[int, str] = {}
        early: list[tuple[int, float]] = []
        while not self.stopping:
            now = time.perf_counter()
            for kind, pk, text in rows.look():
                if kind == "job":
                    names[pk] = text
                    self.jobs[text] = now
                else:
                    early.append((int(text), now))
            for job, at in early:
                if job in names:
                    self.placed.setdefault(names[job], at)
                    self.awaited.discard(names[job])
            early = [(job, at) for job, at in early if job not in names]
            if not self.awaited:
                self.wanted.clear()
                if not self.awaited:  # nobody came in between
                    self.wanted.wait(0.5)
            time.sleep(0.002)


class Newest:
    """Jobs and attempts that have appeared since the last look; those of PostgreSQL appear in no certain order."""

    TABLES = ("scheduling_job", "scheduling_attempt")

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        # one process submits and one places, each one transaction at a time: rows appear almost in order, and a row
        # that was passed over would be missing in the figures. Each row read again is taken from the two cores.
        self.overlap = 8 if type(connection).__module__.startswith("psycopg") else 0
        self.known = [{pk for (pk,) in connection.execute(f"SELECT id FROM {table}")} for table in self.TABLES]
        self.last = [max(known, default=0) for known in self.known]
        mark = "%s" if self.overlap else "?"
        self.statement = (
            f"SELECT 0, id, name FROM scheduling_job WHERE id > {mark} UNION ALL"
            f" SELECT 1, id, CAST(job_id AS text) FROM scheduling_attempt WHERE id > {mark}"
        )

    def look(self) -> list[tuple[str, int, str]]:
        after = [last - self.overlap for last in self.last]
        fresh = []
        for table, pk, text in self.connection.execute(self.statement, after).fetchall():
            if pk in self.known[table]:
                continue
            self.known[table].add(pk)
            self.last[table] = max(self.last[table], pk)
            fresh.append(("attempt" if table else "job", pk, text))
        return fresh


def session() -> Any:
    """A bare driver connection: the observer shares the two cores with what it observes, so it must cost little."""
    from django.conf import settings

    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite"):
        import sqlite3

        return sqlite3.connect(database["NAME"], isolation_level=None, timeout=30)
    import psycopg

    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    given = {names[key]: value for key, value in database.items() if key in names and value}
    return psycopg.connect(autocommit=True, **given)
