"""The event loop's way to the database: few threads, each with its own connection, so that the loop never waits."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, close_old_connections, connection, connections

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 20_000
WORTH_PAGES = 2000  # of 4 KiB; a shorter log is left to grow


def summary(took: list[float]) -> dict[str, float]:
    """Of milliseconds: how many, median, 99th percentile, longest."""
    ordered = sorted(took)
    return {
        "count": len(ordered),
        "median": round(ordered[len(ordered) // 2], 2),
        "p99": round(ordered[int(len(ordered) * 0.99)], 2),
        "longest": round(ordered[-1], 2),
    }


def checkpoint() -> bool:
    """Moves SQLite's write-ahead log into the database. False: not SQLite.

    First all that is there while others go on writing, then the little that they added, with the write lock held for
    the two short waits for the disk: only a log that was moved wholly is begun anew, else it would grow for ever.
    """
    if connection.vendor != "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if cursor.fetchone()[1] < WORTH_PAGES:
            return True
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with connection.turn():  # type: ignore[attr-defined]
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
    return True


class DatabaseThread:
    """Runs functions one after the other. `timings` is what an operator (and the bench) reads."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"db-{name}")
        self._took: defaultdict[str, list[float]] = defaultdict(list)
        self._told: object = None

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises what `work` raises."""
        call = self._call
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: call(work, *args, **kwargs))

    def timings(self) -> dict[str, list[float]]:
        """Milliseconds of each call by the function's name, since they were last asked for."""
        took, self._took = self._took, defaultdict(list)
        return dict(took)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._pool, connections.close_all)
        self._pool.shutdown(wait=True)

    def _call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        close_old_connections()
        self._leave_checkpoints_to_the_keeper()
        started = time.perf_counter()
        try:
            return work(*args, **kwargs)
        finally:
            values = self._took[getattr(work, "__name__", "work")]
            if len(values) < KEPT:
                values.append((time.perf_counter() - started) * 1000)
            close_old_connections()

    def _leave_checkpoints_to_the_keeper(self) -> None:
        if self._told is not connection.connection and connection.vendor == "sqlite":
            with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_autocheckpoint=0")
            self._told = connection.connection
