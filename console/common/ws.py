"""The door of every websocket: browsers are let in from our own pages only.

A browser sends its cookies with a websocket handshake from any page, and CSRF tokens do not exist there, so the
Origin header decides. A client without cookies (an API token under /ws/token/) is not a browser on a page.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import redis
import structlog
from django.conf import settings
from django.http.request import split_domain_port, validate_host

log = structlog.get_logger(__name__)
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[Any]]
TRY_LATER = 1013
TOKEN_PATH = "/ws/token/"  # noqa: S105 - a path, not a secret


class OriginGuard:
    """Answers 403 to a handshake from another origin, or without one. Wraps all of the websocket routes.

    The origin must be the very host and port of the request (or one of CSRF_TRUSTED_ORIGINS), and the host one of
    ALLOWED_HOSTS, so that a name which an attacker points at us gets nothing either.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> Any:
        headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        if allowed(scope["path"], scope.get("scheme", "ws"), headers):
            return await self._serve(scope, receive, send)
        log.warning("websocket_refused", path=scope["path"], origin=headers.get("origin", ""))
        await receive()  # websocket.connect; closing before accepting makes the server answer 403
        await send({"type": "websocket.close", "code": 4403})
        return None

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> Any:
        """A Valkey that is away ends the socket in one line of the log; the browser comes back by itself."""
        try:
            return await self.app(scope, receive, send)
        except (redis.RedisError, ConnectionError, TimeoutError) as error:
            log.warning("websocket_ended", path=scope["path"], error=str(error) or repr(error))
        with suppress(RuntimeError, OSError):  # it may be closed already
            await send({"type": "websocket.close", "code": TRY_LATER})
        return None


def allowed(path: str, scheme: str, headers: dict[str, str]) -> bool:
    """Whether a handshake may go on. `headers` by lower-case name; `scheme` is ws or wss."""
    host = headers.get("host", "")
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    if path.startswith(TOKEN_PATH):
        return "cookie" not in headers
    origin = headers.get("origin", "")
    if _is_trusted(origin, settings.CSRF_TRUSTED_ORIGINS):
        return True
    secure = scheme == "wss" or _came_by_tls(headers)
    return origin == f"{'https' if secure else 'http'}://{host}"


def _came_by_tls(headers: dict[str, str]) -> bool:
    """What the proxy says, where settings name one."""
    named = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    if not named:
        return False
    name = named[0].removeprefix("HTTP_").replace("_", "-").lower()
    return headers.get(name, "").split(",")[0].strip() == str(named[1])


def _is_trusted(origin: str, trusted: Iterable[str]) -> bool:
    """CSRF_TRUSTED_ORIGINS: exact, or `https://*.example.org` for any sub-domain."""
    parts = urlsplit(origin)
    for pattern in trusted:
        wanted = urlsplit(pattern)
        if parts.scheme != wanted.scheme or not parts.netloc:
            continue
        if parts.netloc == wanted.netloc:
            return True
        if wanted.netloc.startswith("*.") and parts.netloc.endswith(wanted.netloc[1:]):
            return True
    return False
