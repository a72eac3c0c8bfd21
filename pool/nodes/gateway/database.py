"""The event loop's way to the database: few threads, each with its own connection, so that the loop never waits."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connections

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds, of calls of one name."""

    count: int
    median: float
    longest: float


class DatabaseThread:
    """Runs functions one after the other. `timings` is what an operator (and the bench) reads."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"db-{name}")
        self._took: defaultdict[str, list[float]] = defaultdict(list)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises what `work` raises."""
        call = self._call
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: call(work, *args, **kwargs))

    def timings(self) -> dict[str, Timing]:
        """Since the last time they were read."""
        took, self._took = self._took, defaultdict(list)
        return {
            name: Timing(len(values), sorted(values)[len(values) // 2], max(values)) for name, values in took.items()
        }

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._pool, connections.close_all)
        self._pool.shutdown(wait=True)

    def _call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        close_old_connections()
        started = time.perf_counter()
        try:
            return work(*args, **kwargs)
        finally:
            values = self._took[getattr(work, "__name__", "work")]
            if len(values) < KEPT:
                values.append((time.perf_counter() - started) * 1000)
            close_old_connections()
