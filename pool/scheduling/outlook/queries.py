"""The outlook of a waiting job, as the reader may know it: of others neither how many wait nor what they hold.

When a job would start depends on when others end; that much everybody learns who waits. Times are rounded outwards, the
more the further they are, which is no less than they are worth.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from console.common.actor import Actor
from pool.scheduling.models import Job, JobState, Queue
from pool.scheduling.outlook import published
from pool.scheduling.outlook.published import Outlook

STEPS = (  # how far away, and to what it is rounded
    (timedelta(minutes=10), timedelta(minutes=1)),
    (timedelta(hours=1), timedelta(minutes=5)),
    (timedelta(hours=6), timedelta(minutes=15)),
    (timedelta(days=2), timedelta(hours=1)),
    (timedelta.max, timedelta(hours=6)),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OF_OTHERS = {"no_victims": "none", "not_enough": "none"}  # whether anybody else could be stopped is theirs to know


@dataclass(frozen=True, slots=True)
class Told:
    """As published.Outlook; `overall` and counts None, and `no_room` "none", where it is not the reader's to know."""

    at: datetime
    place: int
    line: int
    overall: int | None
    all_waiting: int | None
    rule: str
    blocker: str
    no_room: str
    no_room_queue: str
    basis: str
    early: datetime | None
    middle: datetime | None
    late: datetime | None
    horizon: datetime | None
    groups: tuple[str, ...]
    counts: tuple[int, int, int] | None


def outlook_of(actor: Actor, job: Job, now: datetime) -> Told | None:
    """Of a job that came from a scoped query. None while it does not wait, or the scheduler has not told lately."""
    if job.state != JobState.QUEUED:
        return None
    found = published.read(job.pk)
    return None if found is None else _told(actor, job, found, now)


def _told(actor: Actor, job: Job, found: Outlook, now: datetime) -> Told:
    every = actor.sees_all_work
    return Told(
        at=_moment(found.at),
        place=found.place,
        line=found.line,
        overall=(found.overall or None) if every else None,
        all_waiting=found.all_waiting if every else None,
        rule=found.rule,
        blocker=found.blocker,
        no_room=found.no_room if every else _OF_OTHERS.get(found.no_room, found.no_room),
        no_room_queue=_queue(actor, found.no_room_queue),
        basis=found.basis,
        early=_rounded(found.early, now, up=False),
        middle=_rounded(found.middle, now, up=False),
        late=_rounded(found.late, now, up=True),
        horizon=_rounded(found.horizon, now, up=False),
        groups=found.groups,
        counts=(found.bounded, found.seen, found.unseen) if every else None,
    )


def _queue(actor: Actor, pk: int) -> str:
    """The name of a queue that the reader may see."""
    queue = Queue.objects.filter(pk=pk).first() if pk else None
    seen = queue is not None and (actor.sees_all_work or queue.tenant_id in actor.tenants)
    return queue.name if queue is not None and seen else ""


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _rounded(seconds: float | None, now: datetime, up: bool) -> datetime | None:
    """What should have been by now is now."""
    if seconds is None:
        return None
    at = max(_moment(seconds), now)
    step = next(step for away, step in STEPS if at - now <= away)
    past = (at - _EPOCH) % step
    if not past:
        return at
    return at - past + step if up else max(at - past, now)
