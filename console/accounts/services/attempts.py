"""Failed sign-ins are counted by account and by address; too many lock it for a while.

The counts are in the database: a flush of Valkey unlocks nothing. What is locked is a password or a code; a passkey
and a one-time link are no guesses, so that nobody is kept out for good by a stranger's guessing.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.accounts.models import Lock
from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.errors import NotAllowed, WeirError

_LONGEST = 254


class Locked(WeirError):
    status = 429
    code = "locked"


def refuse_if_locked(actor: Actor) -> None:
    """Raises Locked while the account that `actor.label` names, or the address, is locked; the refusal is recorded.

    The same is said of an account that does not exist: it is locked by as many guesses.
    """
    now = clock.now()
    found = Lock.objects.filter(_subjects(actor), locked_until__gt=now).order_by("-locked_until").first()
    if found is None or found.locked_until is None:
        return
    record(actor, "auth.login", (f"locked {found.kind}", found.subject[:80]), result="refused")
    raise Locked(_words(found, now))


def note_failure(actor: Actor) -> None:
    """Counts a wrong password or code against the account and the address, and locks what had too many."""
    now = clock.now()
    most = {
        Lock.Kind.ACCOUNT: settings.WEIR_LOCK_ACCOUNT_FAILURES,
        Lock.Kind.ADDRESS: settings.WEIR_LOCK_ADDRESS_FAILURES,
    }
    for kind, subject in _pairs(actor):
        with transaction.atomic():
            _count(kind, subject, now)
            _lock(actor, kind, subject, most[Lock.Kind(kind)], now)


def note_success(actor: Actor) -> None:
    """The account's count begins anew; the address's does not: one good guess must not buy it more."""
    Lock.objects.filter(kind=Lock.Kind.ACCOUNT, subject=actor.label.lower()[:_LONGEST]).delete()


@transaction.atomic
def unlock(actor: Actor, lock: Lock) -> None:
    """At once, and the count begins anew. Operators only."""
    if not actor.is_operator:
        raise NotAllowed("only an operator unlocks")
    if Lock.objects.filter(pk=lock.pk).delete()[0]:
        before = {"locked_until": str(lock.locked_until or ""), "failures": lock.failures}
        record(actor, "auth.unlock", (lock.kind, lock.subject[:80]), before=before)


def _pairs(actor: Actor) -> list[tuple[str, str]]:
    pairs = [(Lock.Kind.ACCOUNT, actor.label.lower()), (Lock.Kind.ADDRESS, actor.address)]
    return [(str(kind), subject[:_LONGEST]) for kind, subject in pairs if subject]


def _subjects(actor: Actor) -> Q:
    found = Q(pk=None)
    for kind, subject in _pairs(actor):
        found |= Q(kind=kind, subject=subject)
    return found


def _count(kind: str, subject: str, now: datetime) -> None:
    window = now - timedelta(minutes=settings.WEIR_LOCK_MINUTES)
    rows = Lock.objects.filter(kind=kind, subject=subject)
    if rows.filter(since__gt=window).update(failures=F("failures") + 1):
        return
    if rows.filter(since__lte=window).update(failures=1, since=now):
        return
    made, new = Lock.objects.get_or_create(kind=kind, subject=subject, defaults={"since": now, "failures": 1})
    if not new:  # another was first
        Lock.objects.filter(pk=made.pk).update(failures=F("failures") + 1)


def _lock(actor: Actor, kind: str, subject: str, most: int, now: datetime) -> None:
    """The condition stands in the UPDATE, so that of many at once one locks and one entry tells of it."""
    until = now + timedelta(minutes=settings.WEIR_LOCK_MINUTES)
    free = Q(locked_until__isnull=True) | Q(locked_until__lte=now)
    if Lock.objects.filter(free, kind=kind, subject=subject, failures__gte=most).update(locked_until=until):
        facts = {"locked_until": until.isoformat(), "failures": most}
        record(actor, "auth.lock", (kind, subject[:80]), after=facts)


def _words(lock: Lock, now: datetime) -> str:
    assert lock.locked_until is not None
    minutes = max(1, -(-int((lock.locked_until - now).total_seconds()) // 60))
    rest = ngettext("Try again in %(minutes)d minute.", "Try again in %(minutes)d minutes.", minutes) % {
        "minutes": minutes
    }
    if lock.kind == Lock.Kind.ADDRESS:
        return _("Too many failed sign-ins came from your address.") + " " + rest
    advice = _("An operator can unlock it; a passkey or a one-time link works meanwhile.")
    return _("Too many failed sign-ins with this address: it is locked.") + f" {rest} {advice}"
