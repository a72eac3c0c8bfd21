"""Writes that must hold the database's lock for a moment only, and the proof that they do."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import connection

KEPT = 20_000
_took: defaultdict[str, list[float]] = defaultdict(list)
_guard = threading.Lock()


def write_at_once(name: str, statement: str, values: Sequence[Any]) -> None:
    """One statement that is a transaction of its own, and how long it took, under `name`.

    Begin, change and commit happen in one call into the database's library. With separate calls the lock stays held
    while this thread waits for its turn in Python between them, which under load takes longer than the write.
    """
    in_turn: Callable[[], AbstractContextManager[None]] = getattr(connection, "turn", nullcontext)
    with in_turn(), connection.cursor() as cursor:  # waiting for SQLite's lock is no part of the transaction
        began = time.perf_counter()
        cursor.execute(statement, values)
        took = (time.perf_counter() - began) * 1000
    with _guard:
        if len(_took[name]) < KEPT:
            _took[name].append(took)


def take_times() -> dict[str, list[float]]:
    """Milliseconds by name since this was last asked: how long each transaction was open."""
    global _took
    with _guard:
        took, _took = _took, defaultdict(list)
    return dict(took)
