"""Web 9: a dead reader among many browsers costs nobody anything and no memory; when it reads again, it skips."""

import asyncio
from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from pool.nodes.heatmap import codec, store
from pool.nodes.heatmap import feed as feeds
from pool.nodes.heatmap_stream import HeatmapConsumer
from tests import factories
from tests.live.dead_reader import DeadReader
from tests.live.server import cookie_header, running, websocket

BROWSERS = 199  # and the dead one
FRAMES = 150
DEVICES = 60_000  # large frames: the kernel's own buffers are full sooner


@pytest.fixture
def host(transactional_db: None, live: Any) -> Any:
    with running() as address:
        yield address


class Fleet:
    """A builder in small: every frame differs in every value, so that each is as large as can be."""

    def __init__(self, valkey: Any) -> None:
        self.valkey = valkey
        self.sequence = 100

    async def send(self, delta: bool = False) -> None:
        base, self.sequence = self.sequence, self.sequence + 1
        values = np.full(DEVICES, self.sequence % 250, np.uint8)
        facts: dict[str, Any] = {"sequence": self.sequence, "layout": 1, "time": 0.0}
        full = codec.encode_full("power", values, **facts)
        data: bytes | None = full
        if delta:
            before = values.copy()
            before[0] += 1
            data = codec.encode_delta("power", before, values, base=base, **facts)
        await sync_to_async(self.valkey.set)(store.frame_key("power"), full)
        await get_channel_layer().group_send(codec.group("power"), {"type": "heatmap.frame", "data": data})


class Reader:
    """A browser that reads; `got` has the sequences of its frames, in order."""

    def __init__(self, client: Any) -> None:
        self.client, self.got = client, [0]

    async def reach(self, sequence: int) -> None:
        while self.got[-1] < sequence:
            self.got.append(codec.peek(await asyncio.wait_for(self.client.recv(), 120))[1])


def _consumers() -> list[HeatmapConsumer]:
    """The server's ends of all open sockets."""
    return [each for feed in feeds._feeds.values() for each in feed._receivers.get("power", ())]  # type: ignore[misc]


async def test_a_dead_reader_harms_nobody(host: str, live: Any) -> None:
    headers = await sync_to_async(lambda: cookie_header(factories.make_user("op@example.test", "operator")))()
    fleet = Fleet(live)
    await fleet.send()
    path = "/ws/heatmap/?layer=power"
    dead = await asyncio.to_thread(DeadReader, host, path, headers)
    others = [Reader(await websocket(host, path, headers)) for _ in range(BROWSERS)]
    for _ in range(FRAMES):
        await fleet.send()
        await asyncio.gather(*(reader.reach(fleet.sequence) for reader in others))

    every = list(range(101, 102 + FRAMES))
    for reader in others:
        assert reader.got[1:] == every, "each frame once, in order"
    waiting = [len(consumer._waiting) for consumer in _consumers()]
    assert len(waiting) >= BROWSERS + 1
    assert max(waiting) <= 1, "at most the newest frame waits for anybody"

    # it wakes up: the rest that the wire held, then the newest; the delta that it has no base for comes as a full frame
    await fleet.send(delta=True)
    late = []
    while not late or codec.peek(late[-1])[1] < fleet.sequence:
        late.append(await asyncio.to_thread(dead.next))
    sequences = [codec.peek(data)[1] for data in late]
    assert sequences == sorted(sequences)
    assert len(sequences) < FRAMES, "it skipped frames"
    assert codec.decode(late[-1], DEVICES).is_full
    dead.close()
    for reader in others:
        await reader.client.close()
