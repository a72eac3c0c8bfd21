"""The heatmap's websocket, over the real server: who gets in, what comes, and when it ends."""

import asyncio
import json

import numpy as np
import pytest
import redis
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.contrib.sessions.models import Session
from websockets.exceptions import ConnectionClosed, InvalidStatus

from console.tenants.models import User
from pool.nodes import sockets
from pool.nodes.heatmap import codec, store
from tests import factories
from tests.live.server import cookie_header, websocket

PATH = "/ws/heatmap/?layer=memory"
DEVICES = 64


def _full(sequence: int, value: int = 7, layer: str = "memory") -> bytes:
    values = np.full(DEVICES, value, np.uint8)
    return codec.encode_full(layer, values, sequence=sequence, layout=1, time=0.0)


def _delta(sequence: int, base: int, old: int, new: int) -> bytes:
    before, after = np.full(DEVICES, old, np.uint8), np.full(DEVICES, old, np.uint8)
    after[0] = new
    data = codec.encode_delta("memory", before, after, sequence=sequence, base=base, layout=1, time=0.0)
    assert data is not None
    return data


async def _publish(data: bytes) -> None:
    layer, _, _ = codec.peek(data)
    await get_channel_layer().group_send(codec.group(layer), {"type": "heatmap.frame", "data": data})


def _operator() -> dict[str, str]:
    return cookie_header(factories.make_user("op@example.test", "operator"))


async def _next(client: object) -> codec.Frame:
    return codec.decode(await asyncio.wait_for(client.recv(), 60), DEVICES)  # type: ignore[attr-defined]


async def _settled(live: redis.Redis, layer: str = "memory") -> None:
    """Until the consumer has asked for its layer, which it does after joining the group."""
    for _ in range(3_000):
        if live.get(store.want_key(layer)):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the layer was never asked for")


@pytest.mark.parametrize("role", ["anonymous", "member", "finance"])
async def test_only_those_who_see_all_work_get_in(host: str, role: str) -> None:
    headers = {}
    if role == "member":
        user = await sync_to_async(factories.make_member)(await sync_to_async(factories.make_tenant)())
        headers = await sync_to_async(cookie_header)(user)
    elif role == "finance":
        headers = await sync_to_async(lambda: cookie_header(factories.make_user("f@example.test", "finance")))()
    with pytest.raises(InvalidStatus) as refused:
        async with websocket(host, PATH, headers):
            pass
    assert refused.value.response.status_code == 403


async def test_a_newcomer_gets_the_kept_full_frame_then_deltas(host: str, live: redis.Redis) -> None:
    live.set(store.frame_key("memory"), _full(10))
    async with websocket(host, PATH, await sync_to_async(_operator)()) as client:
        first = await _next(client)
        assert (first.is_full, first.sequence) == (True, 10)
        await _settled(live)
        await _publish(_delta(11, 10, 7, 9))
        second = await _next(client)
        assert (second.base, second.sequence) == (10, 11)


async def test_a_delta_without_its_base_is_healed_by_a_full_frame(host: str, live: redis.Redis) -> None:
    live.set(store.frame_key("memory"), _full(10))
    async with websocket(host, PATH, await sync_to_async(_operator)()) as client:
        await _next(client)
        await _settled(live)
        live.set(store.frame_key("memory"), _full(13, 9))
        await _publish(_delta(13, 12, 8, 9))
        healed = await _next(client)
        assert (healed.is_full, healed.sequence) == (True, 13)


async def test_a_browser_may_ask_for_a_full_frame_and_for_another_layer(host: str, live: redis.Redis) -> None:
    live.set(store.frame_key("memory"), _full(10))
    live.set(store.frame_key("power"), _full(20, 3, "power"))
    async with websocket(host, PATH, await sync_to_async(_operator)()) as client:
        await _next(client)
        await client.send(json.dumps({"full": "memory"}))
        assert (await _next(client)).sequence == 10
        await client.send(json.dumps({"layer": "power"}))
        assert (await _next(client)).layer == "power"
        await _settled(live, "power")
        await _publish(_full(11, 1))  # the old layer is not sent any more
        await _publish(_full(21, 4, "power"))
        assert (await _next(client)).sequence == 21


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", '{"layer": "nonsense"}', '{"full": 3}', '{"layer": "power", "x": 1}', "x" * 300]
)
async def test_nonsense_from_a_browser_closes_its_socket(host: str, text: str) -> None:
    async with websocket(host, PATH, await sync_to_async(_operator)()) as client:
        await client.send(text)
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(client.recv(), 60)
    assert closed.value.rcvd.code == 4400


@pytest.mark.parametrize("layer", ["", "nonsense", "marks"])
async def test_a_layer_that_is_none_is_refused(host: str, layer: str) -> None:
    with pytest.raises(InvalidStatus):
        async with websocket(host, f"/ws/heatmap/?layer={layer}x", await sync_to_async(_operator)()):
            pass


@pytest.mark.parametrize("end", ["signed out", "role taken", "switched off", "password changed"])
async def test_a_lost_right_closes_the_socket(host: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "CHECK_SECONDS", 0.1)
    async with websocket(host, PATH, await sync_to_async(_operator)()) as client:
        await asyncio.sleep(0.3)  # it holds while nothing changes
        assert client.close_code is None
        await sync_to_async(_take_away)(end)
        await asyncio.wait_for(client.wait_closed(), 60)
    assert client.close_code == 4403


def _take_away(end: str) -> None:
    user = User.objects.get(email="op@example.test")
    if end == "signed out":
        Session.objects.all().delete()
    elif end == "role taken":
        User.objects.filter(pk=user.pk).update(platform_role="")
    elif end == "switched off":
        User.objects.filter(pk=user.pk).update(is_active=False)
    else:
        user.set_password("another long pass phrase 2")
        user.save()
