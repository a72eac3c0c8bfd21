"""The event loop's way to the database: few threads, each with its own connection, so that the loop never waits."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, connection, connections

from pool.nodes.services import Write

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 20_000


def summary(took: list[float]) -> dict[str, float]:
    """Of milliseconds: how many, median, 99th percentile, longest."""
    ordered = sorted(took)
    return {
        "count": len(ordered),
        "median": round(ordered[len(ordered) // 2], 2),
        "p99": round(ordered[int(len(ordered) * 0.99)], 2),
        "longest": round(ordered[-1], 2),
    }


def summary_of_writes(writes: list[Write]) -> dict[str, float]:
    """The same, and the longest on a core, and less what they waited for one."""
    return {
        **summary([write.wall_ms for write in writes]),
        "longest_cpu": round(max(write.cpu_ms for write in writes), 2),
        "longest_but_for_core": round(max(write.wall_ms - write.waited_ms for write in writes), 2),
    }


class DatabaseThread:
    """Runs functions one after the other, on a connection of its own.

    `timings` is what an operator (and the bench) reads.
    """

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
        self._leave_checkpoints_to_the_keeper()
        started = time.perf_counter()
        try:
            return work(*args, **kwargs)
        finally:
            values = self._took[getattr(work, "__name__", "work")]
            if len(values) < KEPT:
                values.append((time.perf_counter() - started) * 1000)
            if connection.errors_occurred:
                self._close_if_broken()

    @staticmethod
    def _close_if_broken() -> None:
        """Whatever CONN_MAX_AGE says: to give it back to a pool after each call costs as much as the call."""
        if connection.is_usable():
            connection.errors_occurred = False
        else:
            connection.close()

    def _leave_checkpoints_to_the_keeper(self) -> None:
        if self._told is not connection.connection and connection.vendor == "sqlite":
            with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_autocheckpoint=0")
            self._told = connection.connection
