"""A PostgreSQL server of the tests' own: started in a temporary folder, unprivileged, gone at the end."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    # a crash of the machine is not what the tests try: nothing here outlives them
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
}


def binaries() -> Path | None:
    """The folder with initdb and postgres: from PATH, or the newest that Debian installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    versions = sorted(installed, key=lambda path: float(path.parent.parent.name))
    return versions[-1].parent if versions else None


def version(folder: Path) -> str:
    done = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[2]


def _unprivileged() -> list[str]:
    """PostgreSQL refuses to run as root: then it runs as the system's user `postgres`, or `nobody`."""
    if os.geteuid() != 0:
        return []
    user = next(name for name in ("postgres", "nobody") if _exists(name))
    group = str(pwd.getpwnam(user).pw_gid)
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


@contextlib.contextmanager
def server(folder: Path, **settings: str) -> Iterator[str]:
    """Runs a server from `folder` (see `binaries`) and yields its DATABASE_URL."""
    with tempfile.TemporaryDirectory(prefix="weir-pg-") as place:
        prefix = _unprivileged()
        if prefix:
            owner = pwd.getpwnam(prefix[1].partition("=")[2])
            os.chown(place, owner.pw_uid, owner.pw_gid)
        data = f"{place}/data"
        initdb = [str(folder / "initdb"), "-D", data, "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run([*prefix, *initdb], check=True, capture_output=True, cwd=place)
        options = {**SETTINGS, "unix_socket_directories": place, **settings}
        words = [word for key, value in options.items() for word in ("-c", f"{key}={value}")]
        bound = ["setpriv", "--pdeathsig=QUIT"] if shutil.which("setpriv") else []
        process = subprocess.Popen(
            # a change of user clears the parent-death signal: it is asked for after that, by the second setpriv
            [*prefix, *bound, str(folder / "postgres"), "-D", data, *words],
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_until_ready(folder, place, process)
            subprocess.run([str(folder / "createdb"), "-h", place, "-U", "weir", "weir"], check=True)
            yield f"postgresql://weir@/weir?host={place}"
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait(120)


def _wait_until_ready(folder: Path, place: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 120
    ask = [str(folder / "pg_isready"), "-q", "-h", place, "-U", "weir"]
    while subprocess.run(ask, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("PostgreSQL did not start")
        time.sleep(0.05)


@contextlib.contextmanager
def fresh_database(url: str) -> Iterator[str]:
    """An empty database on the server of `url`, dropped at the end; yields its DATABASE_URL."""
    name = f"weir_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as server_connection:
        server_connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    parts = urlsplit(url)
    try:
        yield urlunsplit(parts._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as server_connection:
            server_connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


if __name__ == "__main__":
    home = binaries()
    if home is None:
        sys.exit("no PostgreSQL server binaries on this machine")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with server(home) as url:
        print(url, flush=True)
        signal.pause()
