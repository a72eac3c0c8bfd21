"""Where a job would go that is not submitted yet, while some cards are kept for others: as entering.py places it."""

from dataclasses import dataclass
from datetime import datetime

from pool.engine.calendar import Visitor, may_enter
from pool.engine.decide import decide
from pool.engine.part import part_of
from pool.engine.types import JobRequest, Placed, Refused
from pool.scheduling.calendar.windows import Kept, kept
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import Window


@dataclass(frozen=True, slots=True)
class Guest:
    """Who asks, and what decides whether it may use cards that are kept for others."""

    tenant_id: int
    queue_id: int
    visitor: Visitor
    now: datetime


@dataclass(frozen=True, slots=True)
class Foreseen:
    """`kept`: it would be placed but for cards that are kept for others."""

    outcome: Placed | Refused
    kept: bool = False


def decide_for(mirror: FleetMirror, request: JobRequest, guest: Guest) -> Foreseen:
    """On the fleet as it is, less what is kept from this job. One query. The mirror is left as it was."""
    rows = Window.objects.filter(state=Window.State.OPEN).select_related("reservation").order_by("pk")
    windows = [kept(row, mirror) for row in rows]
    if not windows:
        return Foreseen(decide(mirror.fleet, request))
    for window in windows:
        mirror.pledge(window.key, window.holds)
    try:
        outcome = _among(mirror, request, windows, guest)
    finally:
        for window in windows:
            mirror.unpledge(window.key)
    freely = isinstance(outcome, Refused) and isinstance(decide(mirror.fleet, request), Placed)
    return Foreseen(outcome, freely)


def _among(mirror: FleetMirror, request: JobRequest, windows: list[Kept], guest: Guest) -> Placed | Refused:
    """First in what is reserved for it, then in what is free, then in what is kept where it may stay for a while."""
    own = [w.key for w in windows if w.reservation is not None and w.start <= guest.now and _is_of(w, guest)]
    if own:
        with mirror.lifted(own):
            outcome = decide(part_of(mirror.fleet, mirror.cards_of(own)), request)
        if isinstance(outcome, Placed):
            return outcome
    outcome = decide(mirror.fleet, request)
    second = int(guest.now.timestamp())
    keys = [w.key for w in windows if may_enter(w.rule, guest.visitor, second, _is_of(w, guest))]
    if isinstance(outcome, Placed) or not keys:
        return outcome
    with mirror.lifted(keys):
        return decide(mirror.fleet, request)


def _is_of(window: Kept, guest: Guest) -> bool:
    return window.job is None and window.belongs(guest.tenant_id, guest.queue_id)
