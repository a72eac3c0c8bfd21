"""Keeps SQLite's write-ahead log short, in a thread where nobody waits: otherwise some commit of ours pays for it."""

import os
from typing import Any

from django.db import connection

from pool.nodes.services import while_log_is_moved

WORTH_PAGES = 2000  # of 4 KiB; a shorter log is left to grow
WARM_BYTES = 32 << 20
_PIECE = bytearray(256 << 10)


def checkpoint() -> bool:
    """Moves the log into the database. False: not SQLite.

    First all that is there while others go on writing, then the little that they added, with the write lock held for
    the two short waits for the disk: only a log that was moved wholly is begun anew, else it would grow for ever.
    """
    if connection.vendor != "sqlite":
        return False
    # a write that meets a wait for the disk waits as well, with the lock held: telemetry stands aside meanwhile
    with while_log_is_moved(), connection.cursor() as cursor:
        pages, moved = _move(cursor)
        if pages >= WORTH_PAGES:
            _move(cursor)
        elif not moved:
            return True
        with connection.turn():  # type: ignore[attr-defined]
            _move(cursor)
            _begin_anew(cursor)
    return True


def _move(cursor: Any) -> tuple[int, bool]:
    """(pages in the log, whether all of them are in the database now)."""
    cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
    _, pages, moved = cursor.fetchone()
    return pages, pages == moved


def warm() -> None:
    """Reads the log, so that the system keeps it in memory.

    Its frames do not lie at the borders of blocks: a write over a block that the system has put out of memory reads it
    from the disk first, in the middle of a transaction.
    """
    name = f"{connection.settings_dict['NAME']}-wal"
    try:
        log = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        for at in range(0, WARM_BYTES, len(_PIECE)):
            if os.preadv(log, [_PIECE], at) < len(_PIECE):
                return
    finally:
        os.close(log)


def _begin_anew(cursor: Any) -> None:
    """The first write of a new log waits for the disk: it is this one, which changes nothing."""
    cursor.execute("PRAGMA user_version")
    cursor.execute(f"PRAGMA user_version = {cursor.fetchone()[0]}")
