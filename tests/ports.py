"""Ports for servers of tests: no two tests get the same one, and no outgoing connection can take it meanwhile."""

import contextlib
import random
import socket

# below what Linux gives to outgoing connections (ip_local_port_range begins at 32768)
FIRST, LAST = 20_000, 32_000
_reserved: dict[int, socket.socket] = {}  # as long as this process lives, against lanes that run beside it


def free_port() -> int:
    """A port of 127.0.0.1 and ::1 that nobody listens on; a server that starts later will still find it free."""
    dice = random.SystemRandom()
    for _ in range(1_000):
        port = dice.randrange(FIRST, LAST)
        if port not in _reserved and _is_free(port) and _reserve(port):
            return port
    raise RuntimeError(f"no free port between {FIRST} and {LAST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False


def _reserve(port: int) -> bool:
    """A name in Linux' abstract space is one process's at a time, and gone with it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0weir-test-port-{port}")
    except OSError:
        name.close()
        return False
    _reserved[port] = name
    return True
