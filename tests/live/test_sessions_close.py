"""A session that ends, was idle for too long, or lacks a factor that is now required closes its own websockets."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.backends.db import SessionStore
from websockets.exceptions import ConnectionClosed, InvalidStatus

from console.accounts import services
from console.accounts.models import BrowserSession
from console.accounts.policy import STATE
from console.common import clock
from console.common.actor import system
from console.tenants.models import User
from console.tenants.queries import actor_for_user
from pool.nodes import job_stream, sockets
from tests import factories
from tests.live.server import session_of, websocket

ROOT = system("test")


def session(user: User) -> tuple[str, BrowserSession]:
    """A session as SessionMiddleware keeps it."""
    key = session_of(user)
    store, now = SessionStore(key), clock.now()
    store[STATE] = {"started": now.timestamp(), "seen": now.timestamp(), "row": key}
    store.save()
    return key, BrowserSession.objects.create(session_id=key, user=user, started_at=now, last_seen_at=now)


def revoke(row: BrowserSession) -> None:
    services.end_session(actor_for_user(row.user), row)


def sign_out(row: BrowserSession) -> None:
    SessionStore(row.session_id).flush()


def go_idle(row: BrowserSession) -> None:
    store = SessionStore(row.session_id)
    store[STATE] |= {"seen": (clock.now() - timedelta(days=1)).timestamp()}
    store.save()


def require(row: BrowserSession) -> None:
    services.require_factor(ROOT, row.user.platform_role or "member")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "CHECK_SECONDS", 0.2)
    monkeypatch.setattr(job_stream, "POLL_SECONDS", 0.2)


@pytest.mark.parametrize("end", [revoke, sign_out, go_idle, require])
@pytest.mark.parametrize("stream", ["heatmap", "job"])
async def test_what_ends_a_session_closes_its_sockets(
    host: str, stream: str, end: Callable[[BrowserSession], None]
) -> None:
    tenant = await sync_to_async(factories.make_tenant)()
    job = await sync_to_async(factories.make_job)(tenant)
    user = await sync_to_async(_person)(stream, tenant)
    path = "/ws/heatmap/" if stream == "heatmap" else f"/ws/jobs/{job.public_id}/log/"
    key, row = await sync_to_async(session)(user)
    headers = {"Cookie": f"sessionid={key}"}
    async with websocket(host, path, headers) as client:
        await sync_to_async(end)(row)
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(_drain(client), 60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
    with pytest.raises(InvalidStatus):
        async with websocket(host, path, headers):
            pass


async def test_anothers_session_stays_open(host: str) -> None:
    user = await sync_to_async(factories.make_user)("ops@example.test", "operator")
    (lost, row), (kept, _) = await sync_to_async(session)(user), await sync_to_async(session)(user)
    async with (
        websocket(host, "/ws/heatmap/", {"Cookie": f"sessionid={lost}"}) as first,
        websocket(host, "/ws/heatmap/", {"Cookie": f"sessionid={kept}"}) as second,
    ):
        await sync_to_async(revoke)(row)
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(_drain(first), 60)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_drain(second), 1)


def _person(stream: str, tenant: Any) -> User:
    if stream == "heatmap":
        return factories.make_user("ops@example.test", "operator")
    return factories.make_member(tenant)


async def _drain(client: Any) -> None:
    """Frames that are under way are read; ends only with the socket."""
    while True:
        await client.recv()
