"""The earliest start of a job that does not fit now: what runs ends by and by, until it does.

Backfilling as of Lifka's EASY (1995): the jobs in front get a start and a place, and others may run there only if they
end before (windows.py). Times are whole seconds of any clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from pool.engine.fleet import Fleet
from pool.engine.preempt.plan import minimal
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, Hold, JobRequest, Placed, Policy
from pool.engine.validate import could_never


@dataclass(frozen=True, slots=True)
class Ending:
    """What a running job holds, and when it ends at the latest. ``sure`` False: an estimate, nothing ends it."""

    job: int
    end_s: int
    holds: tuple[Hold, ...]
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Start:
    """``placed``: the minimum of the job, where it goes at ``at_s``. ``sure``: all that must have ended by then has a
    time limit. ``until``: how many jobs end until then."""

    at_s: int
    placed: Placed
    sure: bool
    until: int


@dataclass(frozen=True, slots=True)
class NoStart:
    """never: not on this hardware. endless: not even once all has ended whose end is known."""

    reason: Literal["never", "endless"]


def earliest(
    fleet: Fleet, job: JobRequest, endings: Iterable[Ending], now_s: int, policy: Policy = DEFAULT
) -> Start | NoStart:
    """When the minimum of a job fits if nothing else starts, and where. Changes nothing.

    Each end frees more, so that the first at which it fits is found by halving; what lies before the half that is
    searched on is freed once: every hold is freed twice at most. The same content gives the same answer.
    """
    job = minimal(job)
    if could_never(fleet, job, policy):
        return NoStart("never")
    line = sorted(endings, key=lambda ending: (ending.end_s, ending.job))
    with ExitStack() as stack:
        stack.enter_context(fleet.scratch())
        found = try_place(fleet, job, policy)
        if isinstance(found, Placed):
            return Start(now_s, found, True, 0)
        low, high, best = 0, len(line), None
        while low < high:
            middle = _whole_moment(line, (low + high) // 2)
            with fleet.scratch():
                _free(fleet, line[low:middle])
                found = try_place(fleet, job, policy)
            if isinstance(found, Placed):
                best, last = (middle, found), _moment_begins(line, middle - 1)
                if last <= low:
                    break
                high = last
            else:
                _free(fleet, line[low:middle])
                low = middle
        if best is None:
            return NoStart("endless")
        count, placed = best
        return Start(max(now_s, line[count - 1].end_s), placed, all(each.sure for each in line[:count]), count)


def fits_at(
    fleet: Fleet, job: JobRequest, endings: Iterable[Ending], at_s: int, policy: Policy = DEFAULT
) -> Placed | None:
    """Where a job fits at a moment, by when all that ends before it has left. Changes nothing."""
    with fleet.scratch():
        _free(fleet, [ending for ending in endings if ending.end_s <= at_s])
        found = try_place(fleet, job, policy)
    return found if isinstance(found, Placed) else None


def _whole_moment(line: Sequence[Ending], at: int) -> int:
    """The place after all that end together with this one."""
    end = line[at].end_s
    while at < len(line) and line[at].end_s == end:
        at += 1
    return at


def _moment_begins(line: Sequence[Ending], at: int) -> int:
    end = line[at].end_s
    while at > 0 and line[at - 1].end_s == end:
        at -= 1
    return at


def _free(fleet: Fleet, endings: Iterable[Ending]) -> None:
    for ending in endings:
        for hold in ending.holds:
            fleet.release(hold)
