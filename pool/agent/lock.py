"""One agent a state folder: two would both speak for the same processes."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class LockedElsewhere(Exception):
    """Another agent uses this state folder."""


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """Held until the end of the block, or of the process however it ends. Raises LockedElsewhere."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise LockedElsewhere(f"{path.parent}: another agent runs with this --state-dir") from None
    try:
        yield
    finally:
        os.close(handle)
