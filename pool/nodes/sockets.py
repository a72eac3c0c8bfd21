"""Who holds a websocket, checked again and again for as long as it is open.

A session that ended, a password that changed, an account that was switched off or lost its role must close the
socket at once, not at the next page load; and so must a session that was idle for too long, and a person whose role
asks for a second factor that is missing. All sockets of a process are checked together: two queries, one a person and
one a session, whatever their number.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from channels.db import database_sync_to_async
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.utils.crypto import constant_time_compare

from console.accounts import queries as accounts
from console.common import clock
from console.common.actor import Actor
from console.tenants.models import ApiToken, User
from console.tenants.queries import actor_for_token, actor_for_user
from console.tenants.secrets import digest, well_formed

log = structlog.get_logger(__name__)
CHECK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Credential:
    """What a socket was opened with: a browser's session, or an API token (its digest)."""

    session_key: str = ""
    token_digest: str = ""


def credential_of(scope: dict[str, object]) -> Credential | None:
    """From a handshake that passed OriginGuard. None: neither a session nor a well-formed token."""
    for name, value in scope["headers"]:  # type: ignore[attr-defined]
        if name.lower() == b"authorization" and value.lower().startswith(b"bearer "):
            text = value[7:].decode("latin1").strip()
            return Credential(token_digest=digest(text)) if well_formed(text) else None
    key = getattr(scope.get("session"), "session_key", None)
    return Credential(session_key=key) if key else None


def actors_of(credentials: Iterable[Credential]) -> dict[Credential, Actor]:
    """Those that are still good, with their present rights."""
    wanted = set(credentials)
    people = _session_users({c.session_key for c in wanted if c.session_key})
    now = clock.now()
    tokens = _tokens({c.token_digest for c in wanted if c.token_digest})
    actors: dict[int, Actor] = {}
    found = {}
    for credential in wanted:
        if person := people.get(credential.session_key):
            user, session = person
            if user.pk not in actors:
                actors[user.pk] = actor_for_user(user)
            if not accounts.is_held_back(actors[user.pk], session, now):
                found[credential] = actors[user.pk]
        elif token := tokens.get(credential.token_digest):
            found[credential] = actor_for_token(token)
    return found


def _session_users(keys: set[str]) -> dict[str, tuple[User, dict[str, Any]]]:
    """The person of each session that is good, and what stands in it."""
    sessions = {}
    for session in Session.objects.filter(session_key__in=keys, expire_date__gt=clock.now()) if keys else ():
        data = session.get_decoded()
        if SESSION_KEY in data:
            sessions[session.session_key] = (int(data[SESSION_KEY]), data)
    users = {user.pk: user for user in User.objects.filter(pk__in={pk for pk, _ in sessions.values()}, is_active=True)}
    return {
        key: (users[pk], data)
        for key, (pk, data) in sessions.items()
        if pk in users and constant_time_compare(str(data.get(HASH_SESSION_KEY, "")), users[pk].get_session_auth_hash())
    }


def _tokens(digests: set[str]) -> dict[str, ApiToken]:
    if not digests:
        return {}
    rows = ApiToken.objects.select_related("user").filter(
        digest__in=digests, revoked_at__isnull=True, user__is_active=True
    )
    now = clock.now()
    return {row.digest: row for row in rows if row.expires_at is None or row.expires_at > now}


async def actor_of(credential: Credential | None) -> Actor | None:
    """The present actor of one socket: what is asked before each event of a tenant's work."""
    if credential is None:
        return None
    found: dict[Credential, Actor] = await database_sync_to_async(actors_of)([credential])
    return found.get(credential)


@dataclass(eq=False, slots=True)
class Seat:
    """An open socket. `lost` is set once `allows` no longer holds for its actor."""

    credential: Credential
    allows: Callable[[Actor], bool]
    lost: asyncio.Event


class Watch:
    """Checks all seats of this process every CHECK_SECONDS while there are any."""

    def __init__(self) -> None:
        self._seats: set[Seat] = set()
        self._task: asyncio.Task[None] | None = None

    def join(self, seat: Seat) -> None:
        self._seats.add(seat)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def leave(self, seat: Seat) -> None:
        self._seats.discard(seat)

    async def _run(self) -> None:
        while self._seats:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check()

    async def check(self) -> None:
        """Marks the seats whose holder has lost the right. A database that is away proves nothing."""
        seats = list(self._seats)
        try:
            actors = await database_sync_to_async(actors_of)(seat.credential for seat in seats)
        except DatabaseError as error:
            log.warning("sockets_not_checked", error=str(error))
            return
        for seat in seats:
            actor = actors.get(seat.credential)
            if actor is None or not seat.allows(actor):
                self._seats.discard(seat)
                seat.lost.set()


_watches: "WeakKeyDictionary[asyncio.AbstractEventLoop, Watch]" = WeakKeyDictionary()


def watch() -> Watch:
    """The one of the running event loop."""
    return _watches.setdefault(asyncio.get_running_loop(), Watch())
