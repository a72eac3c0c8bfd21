"""The web process's side of the heatmap: says which layers are looked at, and fetches full frames once for all."""

import asyncio
import time
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import redis.asyncio
import structlog
from channels.layers import get_channel_layer
from django.conf import settings

from pool.nodes.heatmap import codec, store

log = structlog.get_logger(__name__)
_REFRESH_S = 4.0


class Receiver(Protocol):
    """An open socket."""

    def offer(self, layer: str, data: bytes) -> None:
        """A frame has come. Takes no time: it must not wait for the browser."""


class Feed:
    """Shared by all heatmap sockets of one event loop.

    The process takes each frame off the channel layer once and hands it to its sockets itself: a channel a socket
    would unpack the same bytes a hundred times.
    """

    def __init__(self) -> None:
        self._valkey: Any = redis.asyncio.Redis.from_url(settings.REDIS_URL, socket_timeout=2)
        self._receivers: dict[str, set[Receiver]] = {}
        self._said: dict[str, float] = {}
        self._full: dict[str, bytes] = {}
        self._fetching: dict[str, asyncio.Task[bytes | None]] = {}
        self._refresher: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._channel = ""
        self._lock = asyncio.Lock()

    async def enter(self, layer: str, receiver: Receiver) -> None:
        """One more browser looks at this layer."""
        async with self._lock:
            if self._reader is None or self._reader.done():
                self._channel = await get_channel_layer().new_channel()
                self._reader = asyncio.create_task(self._read(self._channel))
            self._receivers.setdefault(layer, set()).add(receiver)
            await get_channel_layer().group_add(codec.group(layer), self._channel)
        await self._say([layer])
        if self._refresher is None or self._refresher.done():
            self._refresher = asyncio.create_task(self._refresh())

    async def leave(self, layer: str, receiver: Receiver) -> None:
        async with self._lock:
            left = self._receivers.get(layer, set())
            left.discard(receiver)
            if not left:
                self._receivers.pop(layer, None)
                try:
                    await get_channel_layer().group_discard(codec.group(layer), self._channel)
                except (redis.RedisError, OSError) as error:  # a Valkey that is away has forgotten us anyway
                    log.warning("layer_not_left", layer=layer, error=str(error))

    async def _read(self, channel: str) -> None:
        while True:
            message = await get_channel_layer().receive(channel)
            data: bytes = message["data"]
            layer, _, _ = codec.peek(data)
            for receiver in self._receivers.get(layer, ()):
                receiver.offer(layer, data)

    async def full(self, layer: str, at_least: int = 0) -> bytes | None:
        """The newest full frame, of sequence `at_least` or newer if there is one. Many callers share one read."""
        known = self._full.get(layer)
        if known is not None and at_least and codec.peek(known)[1] >= at_least:
            return known
        task = self._fetching.get(layer)
        if task is None or task.done():
            task = self._fetching[layer] = asyncio.create_task(self._fetch(layer))
        return await asyncio.shield(task)

    async def _fetch(self, layer: str) -> bytes | None:
        try:
            data: bytes | None = await self._valkey.get(store.frame_key(layer))
        except (redis.RedisError, OSError) as error:
            log.warning("frame_not_fetched", layer=layer, error=str(error))
            return None
        if data is not None:
            self._full[layer] = data
        return data

    async def _refresh(self) -> None:
        """Keeps the wishes alive: a Valkey that was flushed hears of them again within seconds."""
        while self._receivers:
            await asyncio.sleep(_REFRESH_S)
            self._said.clear()
            await self._say(list(self._receivers))

    async def _say(self, layers: list[str]) -> None:
        now = time.monotonic()
        fresh = [layer for layer in layers if now - self._said.get(layer, -_REFRESH_S) >= _REFRESH_S]
        try:
            for layer in fresh:
                await self._valkey.set(store.want_key(layer), 1, ex=store.WANT_SECONDS)
                self._said[layer] = now
        except (redis.RedisError, OSError) as error:
            log.warning("layers_not_asked_for", error=str(error))


_feeds: "WeakKeyDictionary[asyncio.AbstractEventLoop, Feed]" = WeakKeyDictionary()


def feed() -> Feed:
    """The one of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _feeds:
        _feeds[loop] = Feed()
    return _feeds[loop]
