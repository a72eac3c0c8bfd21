"""Web 11: a websocket handshake with a good cookie but from another origin, or without one, is answered with 403.

Programs with a token have a path of their own, on which cookies are refused.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from websockets.exceptions import InvalidStatus

from console.tenants.queries import actor_for_user
from console.tenants.services import create_token
from pool.nodes.heatmap import codec, store
from tests import factories
from tests.live.server import cookie_header, running, websocket

HEATMAP = "heatmap/?layer=memory"


@pytest.fixture
def host(transactional_db: None, live: Any) -> Iterator[str]:
    full = codec.encode_full("memory", np.full(4, 7, np.uint8), sequence=1, layout=1, time=0.0)
    live.set(store.frame_key("memory"), full)
    with running() as address:
        yield address


def _operator() -> tuple[dict[str, str], str]:
    """(a browser's headers, an API token) of one operator."""
    user = factories.make_user("op@example.test", "operator")
    _, secret = create_token(actor_for_user(user), name="stream", scopes=["fleet:read"])
    return cookie_header(user), secret


async def _status(host: str, path: str, headers: dict[str, str], origin: str | None) -> int:
    try:
        async with websocket(host, path, headers, origin=origin):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def test_origin_decides_for_browsers(host: str) -> None:
    cookie, _ = await sync_to_async(_operator)()
    path = f"/ws/{HEATMAP}"
    assert await _status(host, path, cookie, f"http://{host}") == 101
    for origin in ("https://evil.example", None, "null", f"https://{host}", "http://localhost:1"):
        assert await _status(host, path, cookie, origin) == 403, origin


async def test_a_program_comes_by_token_without_cookies(host: str) -> None:
    cookie, secret = await sync_to_async(_operator)()
    bearer = {"Authorization": f"Bearer {secret}"}
    path = f"/ws/token/{HEATMAP}"
    async with websocket(host, path, bearer, origin=None) as client:
        assert codec.peek(bytes(await client.recv()))[0] == "memory"
    assert await _status(host, path, {**bearer, **cookie}, None) == 403
    assert await _status(host, path, cookie, f"http://{host}") == 403
    assert await _status(host, path, {}, None) == 403
    wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    assert await _status(host, path, {"Authorization": f"Bearer {wrong}"}, None) == 403


async def test_a_token_without_the_scope_is_refused(host: str) -> None:
    def narrow() -> str:
        user = factories.make_user("jobs@example.test", "operator")
        return create_token(actor_for_user(user), name="jobs", scopes=["jobs:read"])[1]

    secret = await sync_to_async(narrow)()
    assert await _status(host, f"/ws/token/{HEATMAP}", {"Authorization": f"Bearer {secret}"}, None) == 403
