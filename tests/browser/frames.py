"""A live fleet for a browser to look at: reports in Valkey, and the real frame builder in a thread."""

import asyncio
import contextlib
import struct
import threading
import time
from collections.abc import Iterator

import numpy as np
import redis
from django.conf import settings
from django.db import connections
from playwright.sync_api import Page

from pool.inventory.models import Node
from pool.nodes.frames import run_frames
from pool.nodes.telemetry import key


def report(util: int = 8_000, memory: int = 5_000, at: float | None = None, only: str = "") -> None:
    """Every node (or `only` the one of that name) reports this much on each of its cards (1/100 %)."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    for node in Node.objects.filter(name__contains=only):
        count = node.devices.count()
        rows = np.tile(np.array([util, memory, 625, 350, 0], "<u2"), (count, 1))
        client.set(key(node.pk), struct.pack("<dI", at or time.time(), count) + rows.tobytes())
    client.close()


@contextlib.contextmanager
def building() -> Iterator[None]:
    """Frames come, as from the gateway."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def work() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(run_frames(stop))
        connections.close_all()
        loop.close()  # here: the channel layer closes its connections with it, which takes this thread

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)


def wait_until(page: Page, expression: str, seconds: float = 120.0) -> None:
    """Until a JavaScript expression is true. Playwright's own wait evaluates it in the page: the CSP forbids that."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(f"Boolean({expression})"):
        if time.monotonic() > deadline:
            raise AssertionError(f"never true: {expression}")
        page.wait_for_timeout(50)
