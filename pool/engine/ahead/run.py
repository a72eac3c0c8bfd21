"""Running forward: work ends, what waits is tried in order, again and again, a number of times over.

Each run draws for all work how long it lasts, and is otherwise the scheduler's own: what waits is tried in its order
whenever something ends, by the engine's own rule, within its limits. Nobody else comes in the meantime, and nobody is
stopped for anybody: what comes later may delay, and preemption may hasten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from pool.engine.ahead.spans import Floats
from pool.engine.copying import copy_of
from pool.engine.fleet import Fleet
from pool.engine.neighbours import repels_of
from pool.engine.trying import try_place
from pool.engine.types import Hold, JobRequest, Placed, Policy

QUIET: Final = Policy(explain=False)
NEVER: Final = float("inf")
TRIES: Final = 8  # that are made before whoever drives may do something else


Work = tuple[tuple[Hold, ...], "tuple[Counted, ...]"]


@dataclass(frozen=True, slots=True)
class Counted:
    """Something that a limit counts: its name, what this work adds, and the most that there may be (None: only
    counted)."""

    name: object
    amount: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Ends:
    """Work that runs: ``ends`` by run, seconds from now; inf: not known to end."""

    holds: tuple[Hold, ...]
    ends: Floats
    counted: tuple[Counted, ...] = ()


@dataclass(frozen=True, slots=True)
class Starts:
    """Work that waits: how long it will last, by run. ``like``: work of one kind fares alike while nothing ends.
    ``held``: it may not start, whatever is free."""

    key: int
    job: JobRequest
    lasts: Floats
    like: object
    counted: tuple[Counted, ...] = ()
    held: bool = False


@dataclass(slots=True)
class Run:
    """``starts`` by key: seconds from now in each run made so far; inf: not before ``horizon``, the moment at which the
    first run was cut off after its most events."""

    starts: dict[int, list[float]] = field(default_factory=dict)
    horizon: float = NEVER


def look_ahead(
    fleet: Fleet,
    running: Sequence[Ends],
    waiting: Sequence[Starts],
    used: Mapping[object, int],
    runs: int,
    most_events: int = 2_000,
) -> Iterator[Run]:
    """Yields the runs made so far after every few tries, so that whoever drives can stop in between; the last is
    the whole. ``used``: what limits have counted so far. The fleet is copied first."""
    start, found = copy_of(fleet), Run({each.key: [] for each in waiting})
    ends = np.array([each.ends for each in running], dtype=np.float64).reshape(len(running), -1 if running else runs)
    yield found
    for number in range(runs):
        first = _first(ends[:, number], most_events) if len(running) else []
        yield from _once(start, running, first, waiting, dict(used), number, most_events, found)
    yield found


def _first(ends: Floats, most: int) -> list[tuple[float, int]]:
    """The earliest ends, as many as a run may look at, and whose they are."""
    known = np.flatnonzero(np.isfinite(ends))
    if len(known) > most + 1:
        known = known[np.argpartition(ends[known], most)[: most + 1]]
    return [(float(ends[at]), int(at)) for at in known]


def _once(
    start: Fleet,
    running: Sequence[Ends],
    ends: list[tuple[float, int]],
    waiting: Sequence[Starts],
    used: dict[object, int],
    number: int,
    most_events: int,
    found: Run,
) -> Iterator[Run]:
    fleet = copy_of(start)
    heapify(ends)
    begun_works: list[Work] = []
    line, at, tries, events = list(waiting), 0.0, 0, 0
    begun: dict[int, float] = {}
    while True:
        refused: set[object] = set()
        left: list[Starts] = []
        for each in line:
            placed = _place(fleet, each, used, refused)
            if placed is None:
                left.append(each)
            else:
                begun[each.key] = at
                begun_works.append((placed, each.counted))
                if np.isfinite(each.lasts[number]):
                    heappush(ends, (at + float(each.lasts[number]), len(running) + len(begun_works) - 1))
            tries += each.like not in refused or placed is not None
            if tries >= TRIES:
                tries = 0
                yield found
        line = [each for each in left if not each.held]
        if not line or not ends:
            break
        events += 1
        if events > most_events:
            found.horizon = min(found.horizon, at)
            break
        at = ends[0][0]
        while ends and ends[0][0] <= at:
            which = heappop(ends)[1]
            ended = running[which] if which < len(running) else None
            _end(fleet, (ended.holds, ended.counted) if ended else begun_works[which - len(running)], used)
        tries += 1
    for each in waiting:
        found.starts[each.key].append(begun.get(each.key, NEVER))


def _end(fleet: Fleet, work: Work, used: dict[object, int]) -> None:
    holds, counted = work
    for hold in holds:
        fleet.release(hold)
    for each in counted:
        used[each.name] = used.get(each.name, 0) - each.amount


def _place(fleet: Fleet, each: Starts, used: dict[object, int], refused: set[object]) -> tuple[Hold, ...] | None:
    if each.held or each.like in refused:
        return None
    if any(one.most is not None and used.get(one.name, 0) + one.amount > one.most for one in each.counted):
        return None
    job = each.job
    outcome = try_place(fleet, job, QUIET)
    if not isinstance(outcome, Placed):
        refused.add(each.like)
        return None
    for one in each.counted:
        used[one.name] = used.get(one.name, 0) + one.amount
    return fleet.apply(outcome, job.tenant, job.trust_group, job.labels, repels_of(job))
