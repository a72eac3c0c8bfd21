"""A person's sessions: what is shown of each, and its end.

When a session began and was last used stands in the session itself, which every request has read anyway; the row that
people see is written at the first request and once a minute.
"""

from datetime import UTC, datetime

from django.contrib.auth import logout
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest

from console.accounts.models import BrowserSession
from console.accounts.policy import STATE
from console.audit.services import record
from console.common.actor import Actor
from console.common.errors import NotAllowed

TOUCH_SECONDS = 60


def open_session(request: HttpRequest, actor: Actor, method: str, now: datetime) -> None:
    """Notes a session that is new to us, or that has a new key after a change of password."""
    state = request.session.get(STATE) or {"started": now.timestamp()}
    key = str(request.session.session_key)
    row = BrowserSession(
        session_id=key,
        user_id=actor.user_id or 0,
        started_at=datetime.fromtimestamp(state["started"], UTC),
        last_seen_at=now,
        address=actor.address,
        device=request.headers.get("User-Agent", "")[:200],
        method=method[:80],
    )
    BrowserSession.objects.bulk_create([row], ignore_conflicts=True)  # another request may have been first
    _keep(request, {**state, "seen": now.timestamp(), "row": key})


def see(request: HttpRequest, now: datetime) -> None:
    """Notes the use, at most once a minute. No audit entry: it is not a change by anyone."""
    state = request.session[STATE]
    if now.timestamp() - state["seen"] < TOUCH_SECONDS:
        return
    address = str(request.META.get("REMOTE_ADDR") or "")
    BrowserSession.objects.filter(session_id=request.session.session_key).update(last_seen_at=now, address=address)
    _keep(request, {**state, "seen": now.timestamp()})


def expire(request: HttpRequest, actor: Actor, why: str) -> None:
    """Ends the request's own session because it was idle, or open, for too long."""
    with transaction.atomic():
        record(actor, "session.expire", _name(request.session.session_key), after={"why": why})
        logout(request)


@transaction.atomic
def end_session(actor: Actor, session: BrowserSession) -> None:
    """At once: its next request is signed out and its websockets are closed. One's own, or as an operator anyone's."""
    if actor.user_id != session.user_id and not actor.is_operator:
        raise NotAllowed("a session is ended by its person or an operator")
    if Session.objects.filter(pk=session.session_id).delete()[0]:
        record(actor, "session.end", session, before={"device": session.device, "address": session.address})


@transaction.atomic
def end_other_sessions(actor: Actor, keep: str) -> int:
    """Ends all of the actor's own but the one with the key `keep`; how many there were."""
    rows = list(BrowserSession.objects.filter(user_id=actor.user_id or 0).exclude(session_id=keep))
    for row in rows:
        end_session(actor, row)
    return len(rows)


def _keep(request: HttpRequest, state: dict[str, object]) -> None:
    """Stored at once, not after the page: a request that runs meanwhile must not be overwritten by an old copy."""
    changed = request.session.modified
    request.session[STATE] = state
    request.session.save()
    request.session.modified = changed


def _name(key: str | None) -> tuple[str, str]:
    public_id = BrowserSession.objects.filter(session_id=key or "").values_list("public_id", flat=True).first()
    return "browsersession", public_id or "unknown"
