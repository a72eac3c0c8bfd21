"""What must hold before anything starts. Each check raises `Refusal` with one line that says what to do."""

import contextlib
import errno
import os
import secrets
import shutil
import socket
import time
from pathlib import Path

from console import environment
from console.embedded.refusal import BAD_SETTING, DISK_FULL, PORT_BUSY, UNWRITABLE, Refusal

MIB = 1024 * 1024


def data_folder(home: Path) -> None:
    """Makes the data folder (0700) with its parts and proves by writing that it can be used."""
    probe = home / f".probe-{os.getpid()}"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("log", "staticfiles"):
            (home / name).mkdir(exist_ok=True)
        with probe.open("wb") as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _folder_refusal(home, error) from None
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()


def _folder_refusal(home: Path, error: OSError) -> Refusal:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Refusal(f"The disk that holds {home} is full; free some space or set WEIR_HOME elsewhere.", DISK_FULL)
    why = (error.strerror or "unknown error").lower()
    return Refusal(
        f"Weir cannot write to its data folder {home} ({why}); give this user write permission there "
        "or set WEIR_HOME to a folder that it owns.",
        UNWRITABLE,
    )


def disk_space(home: Path, min_free_mib: int) -> None:
    free = shutil.disk_usage(home).free // MIB
    if free < min_free_mib:
        raise Refusal(
            f"Only {free} MiB are free on the disk that holds {home}, Weir wants {min_free_mib} MiB; "
            "free some space or set WEIR_HOME elsewhere.",
            DISK_FULL,
        )


def addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    """The addresses that `host` names here and that this machine can bind (localhost: 127.0.0.1 and mostly ::1)."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise Refusal(
            f"--host {host}: {error.strerror}; use localhost or an address of this machine.", PORT_BUSY
        ) from None
    unique = dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found)
    usable: list[tuple[socket.AddressFamily, str]] = [
        (family, address) for family, address in unique if _bind(family, address, 0) is None
    ]
    if not usable:
        raise Refusal(f"--host {host} is not an address of this machine; use localhost.", PORT_BUSY)
    return usable


def port_free(host: str, port: int, option: str, patience: float = 2.0) -> None:
    """Refuses a port that is taken; waits `patience` seconds for one that a supervisor just killed still holds."""
    deadline = time.monotonic() + patience
    for family, address in addresses(host):
        while (error := _bind(family, address, port)) is not None:
            if error.errno == errno.EACCES:
                raise Refusal(
                    f"Port {port} needs more rights than this user has; choose another with {option}.",
                    PORT_BUSY,
                )
            if time.monotonic() > deadline:
                raise Refusal(
                    f"Port {port} is in use by another program; stop it or choose another with {option}.",
                    PORT_BUSY,
                )
            time.sleep(0.05)


def _bind(family: socket.AddressFamily, address: str, port: int) -> OSError | None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind((address, port))
            probe.listen(1)
    except OSError as error:
        return error
    return None


def servers(home: Path) -> None:
    """Refuses a DATABASE_URL or REDIS_URL that cannot be meant. Whether they answer is asked by `prepare`."""
    try:
        environment.database(home)
        environment.redis_urls(home)
    except environment.BadSetting as error:
        raise Refusal(f"{error}.", BAD_SETTING) from None
    except ValueError as error:  # a port that is no number
        raise Refusal(f"DATABASE_URL or REDIS_URL cannot be read: {error}.", BAD_SETTING) from None


def secret_key(home: Path) -> None:
    """Writes the secret key once (0600), whole or not at all, unless the environment brings one."""
    path = home / "secret.key"
    if os.environ.get("WEIR_SECRET_KEY") or (path.exists() and path.stat().st_size):
        return
    draft = home / f"secret.key.{os.getpid()}"
    handle = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(48))
    draft.replace(path)
