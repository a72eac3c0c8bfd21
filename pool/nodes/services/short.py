"""Writes that must hold the database's lock for a moment only, and the proof that they do."""

import resource
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connection

KEPT = 20_000
_took: defaultdict[str, list["Write"]] = defaultdict(list)
_guard = threading.Lock()
_log = threading.Lock()  # the write-ahead log is being moved, or one of our writes goes into it


@dataclass(frozen=True, slots=True)
class Write:
    """One transaction, from its begin to its commit: milliseconds on the clock and on a core; `preempted`: how often
    the system took the core away meanwhile."""

    wall_ms: float
    cpu_ms: float
    preempted: int


def write_at_once(name: str, statement: str, values: Sequence[Any]) -> None:
    """One statement that is a transaction of its own, and how long it took, under `name`.

    Begin, change and commit happen in one call into the database's library. With separate calls the lock stays held
    while this thread waits for its turn in Python between them, which under load takes longer than the write.
    None of them is so urgent that it must begin while the log is being moved: it would wait for the disk with the
    lock held, and all others with it.
    """
    in_turn: Callable[[], AbstractContextManager[None]] = getattr(connection, "turn", nullcontext)
    # waiting for SQLite's lock is no part of the transaction
    with _ready(statement, values) as run, _log, in_turn():
        preempted, cpu, wall = _preempted(), time.thread_time(), time.perf_counter()
        run()
        write = Write((time.perf_counter() - wall) * 1e3, (time.thread_time() - cpu) * 1e3, _preempted() - preempted)
    with _guard:
        if len(_took[name]) < KEPT:
            _took[name].append(write)


@contextmanager
def _ready(statement: str, values: Sequence[Any]) -> Iterator[Callable[[], object]]:
    """The statement, ready to run; on SQLite by the driver: what Django does first takes as long as the write."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        with connection.wrap_database_errors, closing(connection.connection.cursor()) as cursor:
            yield partial(cursor.execute, statement.replace("%s", "?"), values)
    else:
        with connection.cursor() as cursor:
            yield partial(cursor.execute, statement, values)


@contextmanager
def while_log_is_moved() -> Iterator[None]:
    """No `write_at_once` of this process begins meanwhile."""
    with _log:
        yield


def take_writes() -> dict[str, list[Write]]:
    """Transactions by name since this was last asked."""
    global _took
    with _guard:
        took, _took = _took, defaultdict(list)
    return dict(took)


def _preempted() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
