"""One supervisor a data folder."""

import fcntl
import os
from pathlib import Path

from console.embedded.refusal import ALREADY_RUNNING, Refusal


def take(home: Path) -> int:
    """Takes the lock and returns its descriptor, to be kept open; the kernel frees it however the process ends."""
    handle = os.open(home / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise Refusal(
            f"Weir is already running on {home} (process {owner}); stop it first or set WEIR_HOME to another folder.",
            ALREADY_RUNNING,
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle
