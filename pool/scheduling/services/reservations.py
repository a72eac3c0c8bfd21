"""Reserved capacity: who reserves it, for whom, and how it is given up.

Operators reserve; so does billing for what a tenant bought (`origin` purchase, with the purchase's id as `reference`:
the same again is the same reservation). An owner of the tenant may cancel what no purchase made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import Tenant
from pool.engine.levels import LEVELS
from pool.inventory.models import DeviceModel
from pool.scheduling import wake
from pool.scheduling.admission import shared
from pool.scheduling.calendar.times import active, spans
from pool.scheduling.calendar.windows import request_of
from pool.scheduling.models import Queue, Reservation

AHEAD = timedelta(days=56)  # so far from its start it is looked whether it fits beside others
_MOST_TIMES = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """`replicas` times `cards` whole cards of one node. Without `queue` all of the tenant's queues may use them.

    `lead_s`: so long before the start the cards are chosen and kept from work that would not have ended. `lends`: until
    somebody of the tenant asks, they run what can be preempted; then they are free within `give_back_s`.
    """

    name: str
    starts_at: datetime
    ends_at: datetime
    replicas: int = 1
    cards: int = 8
    models: Sequence[str] = field(default_factory=tuple)
    level: str = ""
    queue: Queue | None = None
    every: str = "once"
    until: datetime | None = None
    lead_s: int = 3600
    lends: bool = True
    give_back_s: int = 120


def may_reserve(actor: Actor) -> bool:
    return actor.is_operator and actor.has_scope("jobs:write")


def may_cancel(actor: Actor, row: Reservation) -> bool:
    owns = actor.owns(row.tenant_id) and row.origin != "purchase"
    return (actor.is_operator or owns) and actor.has_scope("jobs:write")


def reserve(actor: Actor, tenant: Tenant, wanted: Wanted) -> Reservation:
    """An active reservation. Raises NotAllowed, InvalidInput naming every wrong field, Conflict (no_room) where the
    hardware could not keep it beside those that overlap it."""
    if not may_reserve(actor):
        raise NotAllowed(_("capacity is reserved by operators"))
    return _reserve(actor, tenant, wanted, "operator", "")


def reserve_purchase(actor: Actor, tenant: Tenant, wanted: Wanted, reference: str) -> Reservation:
    """What a tenant bought, by the room that sold it: `actor` is who buys or the system, and was allowed there. The
    same reference again is the same reservation. Raises InvalidInput, Conflict (no_room)."""
    if not reference:
        raise InvalidInput([FieldError("reference", _("is required"))])
    known = Reservation.objects.filter(origin="purchase", reference=reference, tenant=tenant).first()
    return known or _reserve(actor, tenant, wanted, "purchase", reference)


def cancel(actor: Actor, row: Reservation) -> bool:
    """Gives it up, from now on; its cards are free at once. False: it was cancelled before. Raises NotAllowed."""
    if not may_cancel(actor, row):
        raise NotAllowed(_("reservations are cancelled by operators, and by owners of the tenant what nobody bought"))
    with transaction.atomic():
        moved = Reservation.objects.filter(pk=row.pk, state=Reservation.State.ACTIVE).update(
            state=Reservation.State.CANCELLED, cancelled_at=clock.now()
        )
        if moved:
            audit.record(actor, "reservation.cancel", row, tenant_id=row.tenant_id)
            wake.scheduler(queues=True)
    row.refresh_from_db()
    return bool(moved)


def _reserve(actor: Actor, tenant: Tenant, wanted: Wanted, origin: str, reference: str) -> Reservation:
    now = clock.now()
    row = Reservation(
        tenant=tenant,
        queue=wanted.queue,
        name=wanted.name,
        replicas=wanted.replicas,
        cards=wanted.cards,
        models_allowed=sorted(set(wanted.models)),
        level=wanted.level,
        starts_at=wanted.starts_at,
        ends_at=wanted.ends_at,
        every=wanted.every,
        until=wanted.until,
        lead_s=wanted.lead_s,
        lends=wanted.lends,
        give_back_s=wanted.give_back_s,
        origin=origin,
        reference=reference,
        created_at=now,
    )
    wrong = _wrong(row, now)
    if wrong:
        raise InvalidInput(wrong)
    with transaction.atomic():
        row.save()
        # after it is written: on both databases the second of two at once sees the first, or waits for it
        list(
            Reservation.objects.select_for_update().filter(state=Reservation.State.ACTIVE).values_list("pk", flat=True)
        )
        _check_room(row, now)
        audit.record(actor, "reservation.make", row, tenant_id=tenant.pk, after=_told(row))
        wake.scheduler(queues=True)
    return row


def _check_room(row: Reservation, now: datetime) -> None:
    """At each of its times in its first weeks, all that overlap it must fit on the hardware together."""
    since = max(now, row.starts_at)
    until = since + AHEAD
    others = [other for other in active() if other.pk != row.pk]
    theirs = [(other, span) for other in others for span in spans(other, since, until)]
    for start, end in spans(row, since, until)[:_MOST_TIMES]:
        beside = [(other, span) for other, span in theirs if span[0] < end and span[1] > start]
        moments = {start, *(span[0] for _, span in beside if span[0] > start)}
        for moment in sorted(moments):
            at_once = [other for other, span in beside if span[0] <= moment < span[1]]
            if not shared.all_fit([request_of(each) for each in [row, *at_once]]):
                text = _("the pool cannot keep it beside what is reserved already from %(start)s on")
                raise Conflict(text % {"start": f"{moment:%F %H:%M} UTC"}, code="no_room")


def _wrong(row: Reservation, now: datetime) -> list[FieldError]:
    wrong = []
    if not isinstance(row.name, str) or not 1 <= len(row.name.strip()) <= 120:
        wrong.append(FieldError("name", _("must be 1 to 120 characters")))
    for name, (low, high) in _RANGES.items():
        value = getattr(row, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            wrong.append(
                FieldError(name, _("must be a whole number from %(low)s to %(high)s") % {"low": low, "high": high})
            )
    if row.every not in Reservation.Every.values:
        wrong.append(FieldError("every", _("must be one of: %s") % ", ".join(Reservation.Every.values)))
    if row.level not in ("", *LEVELS):
        wrong.append(FieldError("level", _("must be one of: %s") % ", ".join(LEVELS)))
    if row.queue is not None and row.queue.tenant_id != row.tenant_id:
        wrong.append(FieldError("queue", _("is not a queue of the tenant")))
    known = set(DeviceModel.objects.filter(name__in=row.models_allowed).values_list("name", flat=True))
    if set(row.models_allowed) - known:
        wrong.append(FieldError("models", _("is not a model that the pool knows")))
    return wrong + _wrong_times(row, now)


def _wrong_times(row: Reservation, now: datetime) -> list[FieldError]:
    wrong = []
    if row.ends_at <= row.starts_at:
        wrong.append(FieldError("ends_at", _("must be after starts_at")))
    elif row.ends_at <= now and row.every == "once":
        wrong.append(FieldError("ends_at", _("must be in the future")))
    most = {"once": 366, "week": 7}.get(row.every, 1)
    if row.ends_at - row.starts_at > timedelta(days=most):
        wrong.append(FieldError("ends_at", _("must be at most %(days)s days after starts_at") % {"days": most}))
    if row.until is not None and row.until < row.starts_at:
        wrong.append(FieldError("until", _("must be after starts_at")))
    return wrong


_RANGES = {
    "replicas": (1, 100_000),
    "cards": (1, 64),
    "lead_s": (0, 30 * 86_400),
    "give_back_s": (30, 86_400),
}


def _told(row: Reservation) -> dict[str, Any]:
    names = (
        "name",
        "replicas",
        "cards",
        "models_allowed",
        "level",
        "every",
        "lead_s",
        "lends",
        "give_back_s",
        "origin",
    )
    times = {"starts_at": row.starts_at.isoformat(), "ends_at": row.ends_at.isoformat()}
    return {name: getattr(row, name) for name in names} | times | {"queue": row.queue.public_id if row.queue else None}
