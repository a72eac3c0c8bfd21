"""The real ASGI application behind the real server, in a thread of the test, on a port of its own."""

import contextlib
import threading
import time
from collections.abc import Iterator

import uvicorn
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections
from websockets.asyncio.client import ClientConnection, connect

from console.tenants.models import User
from tests.ports import free_port

_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@contextlib.contextmanager
def running(patience_s: float = 120.0) -> Iterator[str]:
    """ "host:port" of a server that answers."""
    from console.asgi import application

    port = free_port()
    config = uvicorn.Config(
        application,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        lifespan="off",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + patience_s
    while not server.started:
        if time.monotonic() > deadline or not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.02)
    try:
        yield f"localhost:{port}"
    finally:
        server.should_exit = True
        thread.join(60)
        connections.close_all()


def session_of(user: User) -> str:
    """Signs a person in; the session's key."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = _BACKEND
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def cookie_header(user: User) -> dict[str, str]:
    return {"Cookie": f"sessionid={session_of(user)}"}


def websocket(host: str, path: str, headers: dict[str, str], *, origin: str | None = "", **more: object) -> connect:
    """A client of websockets; `origin` "": our own page's, None: none."""
    origin = f"http://{host}" if origin == "" else origin
    return connect(
        f"ws://{host}{path}", additional_headers=headers, origin=origin, compression=None, proxy=None, **more
    )  # type: ignore[arg-type]


Client = ClientConnection
