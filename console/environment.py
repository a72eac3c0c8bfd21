"""Reads the process environment into plain values for settings.py; refuses what cannot work."""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

# WAL with the default DEFERRED transactions failed 577 of 800 contended transactions; IMMEDIATE failed none.
SQLITE_OPTIONS: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL;"
        "PRAGMA synchronous=NORMAL;"
        "PRAGMA foreign_keys=ON;"
        "PRAGMA cache_size=-16000;"
        "PRAGMA mmap_size=134217728;"
        # the gateway moves the log into the database (a commit that does so pays for it, and so does the first write
        # after it, which waits for the disk); this is for when it is down: 160 MiB
        "PRAGMA wal_autocheckpoint=40000;"
    ),
}


class BadSetting(ValueError):
    """What a variable says cannot be meant; the message names it and says what would be right. Knows no Django: the
    supervisor asks too."""


def flag(name: str, default: bool = False) -> bool:
    return os.environ.get(name, "1" if default else "0").lower() in {"1", "true", "yes", "on"}


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def by_name(name: str, default: str) -> dict[str, int]:
    """`operator=30,*=120`: whole numbers from 1 by name, of which `*` stands for every other name."""
    found = {}
    for word in words(name, default):
        key, _, value = word.partition("=")
        if not (key and value.isascii() and value.isdigit() and int(value) >= 1):
            raise BadSetting(f"{name}: {word!r} cannot be meant; use names and whole numbers, as in {default}")
        found[key] = int(value)
    if "*" not in found:
        raise BadSetting(f"{name}: needs a number for all other names, as in {default}")
    return found


def home(base: Path) -> Path:
    """The data folder: database, socket, logs, secret key. `WEIR_HOME` or ./var."""
    return Path(os.environ.get("WEIR_HOME") or base / "var").resolve()


def secret_key(folder: Path) -> str:
    """`WEIR_SECRET_KEY`, or a key made once and kept in the data folder with mode 0600."""
    given = os.environ.get("WEIR_SECRET_KEY")
    if given:
        return given
    path = folder / "secret.key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:  # another process was first
        return path.read_text().strip()
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(48))
    return path.read_text().strip()


def database(folder: Path) -> dict[str, Any]:
    """`DATABASE_URL` (postgresql://user:password@host:port/name or sqlite:///path), or SQLite in the data folder."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return _sqlite(folder / "weir.sqlite3")
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(Path(unquote(parts.path)))
    if parts.scheme not in {"postgres", "postgresql"}:
        raise BadSetting(
            f"DATABASE_URL: scheme {parts.scheme!r} is not supported; use postgresql://user:password@host:port/name"
        )
    query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(query.get("host", parts.hostname or "")),
        "PORT": str(parts.port or ""),
        # persistent connections pile up under ASGI; psycopg's pool does not
        "CONN_MAX_AGE": 0,
        "OPTIONS": {
            "pool": {"min_size": 1, "max_size": int(os.environ.get("WEIR_DB_POOL", "8"))},
            # of the hot paths' statements (console/common/sql.py); queries of pages are planned for what they ask
            "prepare_threshold": 3,
            # a list of keys makes PostgreSQL plan such a statement anew each time, which takes longer than running it
            "options": "-c plan_cache_mode=force_generic_plan",
        },
    }


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "console.common.sqlite",
        "NAME": str(path),
        "OPTIONS": dict(SQLITE_OPTIONS),
        "CONN_MAX_AGE": None,
        "TEST": {"NAME": os.environ.get("WEIR_TEST_SQLITE") or str(path.parent / "test.sqlite3")},
    }


def redis_urls(folder: Path) -> tuple[str, str]:
    """(URL for redis clients and Channels, URL for Celery). Both name the same server.

    Raises BadSetting for a URL that names none.
    """
    url = os.environ.get("REDIS_URL", "")
    if not url:
        socket = folder / "valkey.sock"
        return f"unix://{socket}", f"redis+socket://{socket}"
    parts = urlsplit(url)
    place = parts.path if parts.scheme == "unix" else parts.hostname
    if parts.scheme not in {"redis", "rediss", "unix"} or not place:
        raise BadSetting("REDIS_URL: use redis://host:port/0, rediss://host:port/0 or unix:///path/to/socket")
    if parts.scheme == "unix":
        database = dict(parse_qsl(parts.query)).get("db", "0")
        return url, f"redis+socket://{parts.path}?virtual_host={database}"
    return url, url
