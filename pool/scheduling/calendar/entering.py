"""Where a job goes while some cards are kept for others: what is free to it, and in which order."""

from collections.abc import Callable
from datetime import datetime

from pool.engine.types import Hold, Placed
from pool.scheduling.calendar.keeper import Calendar
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.services.placement import Choice
from pool.scheduling.waiting import Waiting

Decide = Callable[[frozenset[int]], Choice]  # on these cards only, or on all that the fleet has
ALL: frozenset[int] = frozenset()


def place(
    calendar: Calendar, mirror: FleetMirror, item: Waiting, now: datetime, decide: Decide
) -> tuple[Choice, tuple[Hold, ...]]:
    """Decides, and holds in memory what was placed: first in what is reserved for it, then in what is free, then in
    what is kept for others where it may stay for a while."""
    if not calendar.active:
        choice = decide(ALL)
        return choice, _hold(mirror, choice)
    own = calendar.own(item, now)
    if own:
        with mirror.lifted(own):
            choice = decide(mirror.cards_of(own))
            holds = _hold(mirror, choice, coming=True)
        if holds:
            return choice, holds
    choice = decide(ALL)
    holds = _hold(mirror, choice, coming=True)
    keys = () if holds else calendar.keys_for(item, now)
    if keys:
        with mirror.lifted(keys):
            choice = decide(ALL)
            holds = _hold(mirror, choice, coming=True)
    return choice, holds


def _hold(mirror: FleetMirror, choice: Choice, coming: bool = False) -> tuple[Hold, ...]:
    """In memory, until the database has it."""
    if not isinstance(choice.outcome, Placed):
        return ()
    holds = mirror.apply(choice.outcome, choice.job.request)
    if coming:
        mirror.coming(holds)
    return holds
