"""The heatmap's websocket: ws/heatmap/?layer=utilisation. Operators and auditors only.

To the browser: binary frames (pool/nodes/heatmap/codec.py) of the chosen layer and of `marks`; a full one first.
From the browser, as JSON text: {"layer": "memory"} changes the layer; {"full": "memory"} asks for a full frame
after a gap. Anything else closes the socket with 4400; a lost right closes it with 4403.

A slow browser never makes a queue: only the newest frame of a layer waits for it. A delta whose base it has not
got is replaced by the full frame of that moment.
"""

import asyncio
from urllib.parse import parse_qs

import orjson
from channels.generic.websocket import AsyncWebsocketConsumer

from console.common.actor import Actor
from pool.nodes import sockets
from pool.nodes.heatmap import codec
from pool.nodes.heatmap.feed import feed

BAD_REQUEST, LOST_RIGHT = 4400, 4403
_MAX_TEXT = 200


def allows(actor: Actor) -> bool:
    """The whole fleet at a glance is for those who see all work anyway."""
    return actor.sees_all_work and actor.has_scope("fleet:read")


class HeatmapConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    channel_layer_alias = "none"  # frames come through the feed that all sockets of the process share

    async def connect(self) -> None:
        self._seat: sockets.Seat | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._layer = ""
        self._waiting: dict[str, bytes] = {}
        self._sent: dict[str, int] = {}
        self._news = asyncio.Event()
        credential = sockets.credential_of(self.scope)
        actor = await sockets.actor_of(credential)
        query = parse_qs(self.scope["query_string"].decode("latin1"))
        layer = query.get("layer", ["utilisation"])[0]
        if credential is None or actor is None or not allows(actor) or layer not in codec.VALUE_LAYERS:
            await self.close()  # not accepted yet: the handshake is answered with 403
            return
        await self.accept()
        self._seat = sockets.Seat(credential, allows, asyncio.Event())
        sockets.watch().join(self._seat)
        self._tasks = [asyncio.create_task(self._send_loop()), asyncio.create_task(self._close_when_lost())]
        await self._choose(layer)
        await feed().enter("marks", self)
        await self._offer_full("marks")

    async def disconnect(self, code: int) -> None:
        for task in self._tasks:
            task.cancel()
        if self._seat is None:
            return
        sockets.watch().leave(self._seat)
        await feed().leave("marks", self)
        await self._leave_layer()

    def offer(self, layer: str, data: bytes) -> None:
        """A frame from the builder: it takes the place of the one that still waits, if any."""
        self._waiting[layer] = data
        self._news.set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        wish = _wish(text_data)
        if wish is None:
            await self.close(code=BAD_REQUEST)
            return
        kind, layer = wish
        if kind == "layer" and layer != self._layer:
            await self._leave_layer()
            await self._choose(layer)
        elif kind == "full" and layer in {self._layer, "marks"}:
            await self._offer_full(layer)

    async def _choose(self, layer: str) -> None:
        self._layer = layer
        await feed().enter(layer, self)
        await self._offer_full(layer)

    async def _leave_layer(self) -> None:
        if not self._layer:
            return
        layer, self._layer = self._layer, ""
        await feed().leave(layer, self)
        self._waiting.pop(layer, None)

    async def _offer_full(self, layer: str) -> None:
        """Sends the full frame if there is one; without one the builder starts on the layer within a second."""
        self._sent.pop(layer, None)
        data = await feed().full(layer)
        if data is not None:
            self._waiting[layer] = data
            self._news.set()

    async def _send_loop(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                layer = next(iter(self._waiting))
                data = await self._sendable(layer, self._waiting.pop(layer))
                if data is not None:
                    await self.send(bytes_data=data)
                    self._sent[layer] = codec.peek(data)[1]

    async def _sendable(self, layer: str, data: bytes) -> bytes | None:
        """`data`, or the full frame in its place when the browser lacks its base; None: it is ahead already."""
        _, sequence, base = codec.peek(data)
        last = self._sent.get(layer)
        if last is not None and sequence <= last:
            return None
        if base in (sequence, last):
            return data
        return await feed().full(layer, at_least=sequence)

    async def _close_when_lost(self) -> None:
        assert self._seat is not None
        await self._seat.lost.wait()
        await self.close(code=LOST_RIGHT)


def _wish(text: str | None) -> tuple[str, str] | None:
    """("layer" or "full", layer); None: not a message that we know."""
    if text is None or len(text) > _MAX_TEXT:
        return None
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or len(message) != 1:
        return None
    kind, layer = next(iter(message.items()))
    known = codec.VALUE_LAYERS if kind == "layer" else codec.LAYERS
    return (kind, layer) if kind in {"layer", "full"} and layer in known else None
