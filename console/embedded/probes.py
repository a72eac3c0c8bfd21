"""Questions that tell whether a process answers. They never raise and never take longer than `TIMEOUT` seconds."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

from console.embedded.spec import Probe

TIMEOUT = 5.0


def http(host: str, port: int, path: str) -> Probe:
    """True on any HTTP answer to GET `path`, also on 503: a restart of the process mends no database."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()

    async def ask() -> bool:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(request)
            return (await reader.readline()).startswith(b"HTTP/")
        finally:
            writer.close()

    return lambda: _within(ask())


def listens(host: str, port: int) -> Probe:
    """True when something accepts a TCP connection."""

    async def ask() -> bool:
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        return True

    return lambda: _within(ask())


def valkey(path: Path) -> Probe:
    """True when the server behind the unix socket answers PING."""

    async def ask() -> bool:
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            writer.write(b"PING\r\n")
            return (await reader.readline()).startswith(b"+PONG")
        finally:
            writer.close()

    return lambda: _within(ask())


async def _within(question: Coroutine[None, None, bool]) -> bool:
    try:
        async with asyncio.timeout(TIMEOUT):
            return await question
    except (OSError, TimeoutError, ValueError):
        return False
