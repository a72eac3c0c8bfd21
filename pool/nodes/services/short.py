"""Writes that must hold the database's lock for a moment only, and the proof that they do."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connection

from console.common import sql

KEPT = 20_000
_took: defaultdict[str, list["Write"]] = defaultdict(list)
_guard = threading.Lock()
_own = threading.local()
_log = threading.Lock()  # the write-ahead log is being moved, or one of our writes goes into it


@dataclass(frozen=True, slots=True)
class Write:
    """One transaction, from its begin to its commit: milliseconds on the clock, on a core, and of waiting for a core
    that the system gave to others (0 where it does not tell)."""

    wall_ms: float
    cpu_ms: float
    waited_ms: float


def write_at_once(name: str, statement: str, values: Sequence[Any]) -> None:
    """One statement that is a transaction of its own, and how long it took, under `name`.

    Begin, change and commit happen in one call into the database's library. With separate calls the lock stays held
    while this thread waits for its turn in Python between them, which under load takes longer than the write.
    None of them is so urgent that it must begin while the log is being moved: it would wait for the disk with the
    lock held, and all others with it.
    """
    in_turn: Callable[[], AbstractContextManager[None]] = getattr(connection, "turn", nullcontext)
    # waiting for SQLite's lock is no part of the transaction
    with _ready(statement, values) as run, _log, in_turn(), _uninterrupted():
        waited, cpu, wall = _waited_ms(), time.thread_time(), time.perf_counter()
        run()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        write = Write(wall * 1e3, cpu * 1e3, _waited_ms() - waited)
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
        with sql.cursor() as cursor:
            yield partial(cursor.execute, statement, values)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Nobody takes this thread's core while it holds the database's lock, where the system lets us (root does).

    A write takes 0.3 ms; once in some hundred others ran in the middle of it, and it took 2 to 9.
    """
    before = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))


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


def _waited_ms() -> float:
    """Of this thread, ready to run, since it began: the second number of Linux's schedstat, in nanoseconds."""
    try:
        if not hasattr(_own, "schedstat"):
            _own.schedstat = open("/proc/thread-self/schedstat", "rb", buffering=0)  # noqa: SIM115
        return int(os.pread(_own.schedstat.fileno(), 64, 0).split()[1]) / 1e6
    except (OSError, IndexError):
        return 0.0
