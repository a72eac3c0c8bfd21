"""Cards that are kept for a reservation or for a job that waited long: opened, moved and closed, each once."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from console.audit import services as audit
from console.common import lease
from console.common.actor import system
from pool.engine.types import Placed
from pool.scheduling.models import Job, JobState, Reservation, Window
from pool.scheduling.preemption.pledges import placement_json
from pool.scheduling.services.events import note
from pool.scheduling.services.placement import Fenced

_SCHEDULER = system("scheduler")


def keep_for_job(
    job: int, placed: Placed, start: datetime, sure: bool, lease_name: str, epoch: int, now: datetime
) -> Window | None:
    """A reserved start. None where the job no longer waits or has one. Raises Fenced."""
    try:
        with transaction.atomic():
            _fence(lease_name, epoch)
            row = Job.objects.filter(pk=job, state=JobState.QUEUED).first()
            if row is None:
                return None
            window = Window.objects.create(
                job=row,
                starts_at=start,
                sure=sure,
                placement=placement_json(placed),
                cards=_cards(placed),
                epoch=epoch,
                created_at=now,
            )
            after = {"window": window.public_id, "start": start.isoformat(), "sure": sure}
            audit.record(_SCHEDULER, "job.reserve_start", row, tenant_id=row.tenant_id, after=after)
            note(job, now, "start_reserved", _SCHEDULER.label, window=window.public_id, start=start, sure=sure)
            return window
    except IntegrityError:
        return None


def keep_for_reservation(
    of: Reservation,
    span: tuple[datetime, datetime],
    placed: Placed | None,
    lease_name: str,
    epoch: int,
    now: datetime,
) -> Window | None:
    """The cards of one occurrence; `placed` None: there was no room for any. None where somebody else did it, or it was
    cancelled. Raises Fenced."""
    start, end = span
    try:
        with transaction.atomic():
            _fence(lease_name, epoch)
            if not Reservation.objects.filter(pk=of.pk, state=Reservation.State.ACTIVE).exists():
                return None
            cards = _cards(placed) if placed is not None else 0
            none: dict[str, Any] = {"state": Window.State.DROPPED, "dropped": Window.Dropped.NO_ROOM, "ended_at": now}
            window = Window.objects.create(
                reservation=of,
                starts_at=start,
                ends_at=end,
                placement=placement_json(placed) if placed is not None else {},
                cards=cards,
                short=of.replicas * of.cards - cards,
                epoch=epoch,
                created_at=now,
                **(none if placed is None else {}),
            )
            after = {"window": window.public_id, "start": start.isoformat(), "cards": cards, "short": window.short}
            audit.record(_SCHEDULER, "reservation.keep", of, tenant_id=of.tenant_id, after=after)
            return window
    except IntegrityError:
        return None


def move_window(pk: int, placed: Placed, short: int, now: datetime) -> bool:
    """Other cards, since some of those that were kept broke or left; False: it is no longer open."""
    with transaction.atomic():
        moved = Window.objects.filter(pk=pk, state=Window.State.OPEN).update(
            placement=placement_json(placed), cards=_cards(placed), short=short
        )
        row = Window.objects.select_related("reservation").get(pk=pk)
        if moved and row.reservation is not None:
            after = {"window": row.public_id, "cards": row.cards, "short": short}
            of = row.reservation
            audit.record(_SCHEDULER, "reservation.move", of, tenant_id=of.tenant_id, after=after)
    return bool(moved)


def put_off(pk: int, start: datetime) -> bool:
    """What an estimate said did not come true: a job's start is later."""
    return bool(Window.objects.filter(pk=pk, state=Window.State.OPEN).update(starts_at=start))


def close_window(pk: int, state: str, dropped: str, now: datetime) -> bool:
    """Open -> started, ended or dropped, once; the cards are no longer kept. False: it was closed before."""
    with transaction.atomic():
        row = Window.objects.filter(pk=pk).select_related("job", "reservation").first()
        moved = Window.objects.filter(pk=pk, state=Window.State.OPEN).update(state=state, dropped=dropped, ended_at=now)
        if row is None or not moved:
            return False
        if row.job is not None and dropped:
            note(row.job.pk, now, "start_dropped", _SCHEDULER.label, window=row.public_id, why=dropped)
            after = {"window": row.public_id, "dropped": dropped}
            audit.record(_SCHEDULER, "job.start_dropped", row.job, tenant_id=row.job.tenant_id, after=after)
        elif row.reservation is not None:
            after = {"window": row.public_id, "state": state}
            of = row.reservation
            audit.record(_SCHEDULER, "reservation.close", of, tenant_id=of.tenant_id, after=after)
    return True


def _fence(lease_name: str, epoch: int) -> None:
    if not lease.hold(lease_name, epoch).rows():
        raise Fenced("this scheduler lost its lease")


def _cards(placed: Placed) -> int:
    return sum(len(replica.devices) for replica in placed.replicas)
