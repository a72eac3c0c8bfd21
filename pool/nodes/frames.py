"""One process builds a heatmap frame a second and layer, whoever holds the lease `frames`.

The gateway runs `run_frames` as a task. The bytes are described in pool/nodes/heatmap/codec.py.
"""

import asyncio
import contextlib
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import redis
import structlog
from channels.layers import get_channel_layer
from django.db import DatabaseError, close_old_connections, connections

from console.common import clock, lease
from pool.nodes.heatmap import store
from pool.nodes.heatmap.builder import Builder
from pool.nodes.heatmap.counters import FleetChanged

log = structlog.get_logger(__name__)
LEASE = "frames"
PERIOD_S = 1.0
_LEASE_TTL = timedelta(seconds=5)
_RENEW_S = 2.0


async def run_frames(stop: asyncio.Event) -> None:
    """Until `stop` is set. A database or Valkey that is away costs the frames of that time, nothing else."""
    # one thread: one database connection, and ticks that never overlap
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="frames") as thread:
        worker = _Worker()
        loop = asyncio.get_running_loop()
        try:
            while not stop.is_set():
                await _turn(worker, loop, thread)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PERIOD_S - time.time() % PERIOD_S):
                        await stop.wait()
        finally:
            await loop.run_in_executor(thread, worker.close)


async def _turn(worker: "_Worker", loop: asyncio.AbstractEventLoop, thread: ThreadPoolExecutor) -> None:
    layer = get_channel_layer()
    try:
        for group, data in await loop.run_in_executor(thread, worker.tick):
            await layer.group_send(group, {"type": "heatmap.frame", "data": data})
    except (DatabaseError, redis.RedisError, OSError) as error:
        log.warning("frames_skipped", error=str(error))
        worker.forget()
    except FleetChanged:
        # nodes keep joining while the layout is being read: the next second reads it again
        log.info("frames_skipped", error="the fleet changed meanwhile")
        worker.forget()
    except Exception:
        # whatever it is, a picture that is missing must not end the gateway, on which running work depends
        log.exception("frames_failed")
        worker.forget()


class _Worker:
    """The synchronous half: lease and builder. Used by one thread only."""

    def __init__(self) -> None:
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{id(self)}"
        self._valkey = store.client()
        self._builder: Builder | None = None
        self._leads = False
        self._renew_at = 0.0

    def tick(self) -> list[tuple[str, bytes]]:
        close_old_connections()
        if time.monotonic() >= self._renew_at:
            self._leads = lease.acquire(LEASE, self._holder, _LEASE_TTL, clock.now()) is not None
            self._renew_at = time.monotonic() + _RENEW_S
        if not self._leads:
            self._builder = None
            return []
        if self._builder is None:
            self._builder = Builder(self._valkey)
        return self._builder.tick(time.time())

    def forget(self) -> None:
        """After an error nothing that was held in memory is trusted."""
        self._builder = None
        self._renew_at = 0.0

    def close(self) -> None:
        try:
            lease.release(LEASE, self._holder)
        except DatabaseError as error:
            log.warning("frames_lease_kept", error=str(error))
        self._valkey.close()
        connections.close_all()
