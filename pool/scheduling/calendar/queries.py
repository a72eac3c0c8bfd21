"""Reservations and reserved starts, as the acting user may see them: of other tenants' nothing at all."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from console.common.actor import Actor
from console.common.errors import NotFound
from console.tenants.models import Tenant
from pool.scheduling import queries
from pool.scheduling.calendar.times import spans
from pool.scheduling.models import Job, Reservation, Window


@dataclass(frozen=True, slots=True)
class Entry:
    """A time of the calendar: an occurrence of a reservation, or the reserved start of a job (then `end` is None until
    it starts). `window`: where the cards are kept already. `state`: planned, kept, current, ended, short or dropped;
    of a start: kept, estimated, started or dropped."""

    start: datetime
    end: datetime | None
    tenant: Tenant
    name: str
    cards: int
    state: str
    reservation: Reservation | None
    job: Job | None
    window: Window | None


def reservations_for(actor: Actor) -> QuerySet[Reservation]:
    """Newest first."""
    return Reservation.objects.filter(queries.own(actor)).select_related("tenant", "queue").order_by("-id")


def reservation_for(actor: Actor, public_id: str) -> Reservation:
    """Raises NotFound, also for another tenant's."""
    found = reservations_for(actor).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("there is no such reservation"))
    return found


def entries(actor: Actor, since: datetime, until: datetime, now: datetime) -> list[Entry]:
    """What overlaps a time, by start. Three queries."""
    again = ~Q(every=Reservation.Every.ONCE) & (Q(until=None) | Q(until__gt=since - timedelta(days=7)))
    live = Q(cancelled_at=None) | Q(cancelled_at__gt=since)
    rows = list(reservations_for(actor).filter(live, again | Q(ends_at__gt=since), starts_at__lt=until))
    windows = Window.objects.filter(Q(ends_at=None) | Q(ends_at__gt=since), starts_at__lt=until)
    known = {(w.reservation_id, w.starts_at): w for w in windows.filter(reservation__in=rows)}
    found = [entry for row in rows for entry in _of(row, known, since, until, now)]
    starts = windows.filter(queries.own(actor, "job__tenant"), reservation=None).select_related("job__tenant")
    recent = starts.filter(Q(state=Window.State.OPEN) | Q(starts_at__gte=since))
    found += [_start(window, now) for window in recent.order_by("starts_at")[:500]]
    return sorted(found, key=lambda entry: (entry.start, entry.name))


def reserved_start(job: Job) -> Window | None:
    """The start that is reserved for a waiting job, which came from a scoped query."""
    return Window.objects.filter(job=job, state=Window.State.OPEN).first()


def windows_of(rows: Iterable[Reservation], since: datetime, until: datetime) -> QuerySet[Window]:
    """The cards that were really kept for reservations within a time, with their placements: what billing charges as
    reserved. A window counts from its start (or when it was opened, if later) to its end or when it was dropped."""
    return (
        Window.objects.filter(reservation__in=list(rows), starts_at__lt=until, ends_at__gt=since, cards__gt=0)
        .select_related("reservation__tenant")
        .order_by("starts_at", "pk")
    )


def _of(
    row: Reservation, known: dict[tuple[int | None, datetime], Window], since: datetime, until: datetime, now: datetime
) -> list[Entry]:
    found = []
    for start, end in spans(row, since, until):
        window = known.get((row.pk, start))
        if window is None and (row.state == Reservation.State.CANCELLED or end <= now):
            continue  # it is not to be, or never was
        cards = row.replicas * row.cards
        found.append(Entry(start, end, row.tenant, row.name, cards, _state(window, start, now), row, None, window))
    return found


def _state(window: Window | None, start: datetime, now: datetime) -> str:
    if window is None:
        return "planned"
    if window.state != Window.State.OPEN:
        return str(window.state)
    if window.short:
        return "short"
    return "current" if start <= now else "kept"


def _start(window: Window, now: datetime) -> Entry:
    job = window.job
    if job is None:
        raise TypeError(f"window {window.pk} is of no job")
    state = str(window.state)
    if window.state == Window.State.OPEN:
        state = "kept" if window.sure else "estimated"
    end = window.starts_at + (job.max_duration or timedelta(hours=1))
    return Entry(window.starts_at, end, job.tenant, job.name, window.cards, state, None, job, window)
