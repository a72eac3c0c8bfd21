"""How often a predicted range holds the true start: a pool with a queue, run times of a real trace.

The true course is computed here without the engine: cards are alike and jobs take one each in the order in which they
came, so that the next start is at the earliest end. Nothing of it is told to the forecast but what had been seen by the
moment of asking: ended work with its span, running work with its age.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

from pool.engine import DeviceSpec, Fleet, JobRequest, NodeSpec, ReplicaRequest, RoleRequest
from pool.engine.ahead import Ends, Spans, Starts, look_ahead
from pool.engine.types import Hold

DEPTH = (0, 4, 19)  # places in the queue that are asked about
RUNS = 29  # p10 and p90 are the third from either end


@dataclass(frozen=True, slots=True)
class Asked:
    """Seconds from the moment of asking: the true start and the range (inf: open)."""

    place: int
    true: float
    early: float
    middle: float
    late: float

    @property
    def inside(self) -> bool:
        return self.early <= self.true <= self.late


@dataclass(frozen=True, slots=True)
class Course:
    """The true course: arrival, start and end of each job."""

    arrives: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def course(spans: np.ndarray, cards: int, load: float, seed: int) -> Course:
    """First come, first served, arrivals by chance at ``load`` times what the cards can do."""
    rng = np.random.default_rng(seed)
    arrives = np.cumsum(rng.exponential(spans.mean() / (cards * load), len(spans)))
    free = [0.0] * cards
    heapify(free)
    starts = np.empty(len(spans))
    for at, span in enumerate(spans):
        starts[at] = max(arrives[at], free[0])
        heapreplace(free, starts[at] + span)
    return Course(arrives, starts, starts + spans)


def calibrate(spans: np.ndarray, cards: int, asks: int, seed: int = 42, load: float = 1.05) -> list[Asked]:
    """Asks at so many moments, spread over the later half of the course, about some of those who wait then."""
    true = course(spans, cards, load, seed)
    rng = np.random.default_rng(seed)
    moments = np.linspace(true.arrives[len(spans) // 2], true.arrives[-1], asks)
    return [each for at in moments for each in _ask(true, spans, cards, float(at), rng)]


def _ask(true: Course, spans: np.ndarray, cards: int, now: float, rng: np.random.Generator) -> Iterator[Asked]:
    began = true.starts <= now
    running = np.flatnonzero(began & (true.ends > now))
    waiting = np.flatnonzero((true.arrives <= now) & ~began)
    if len(waiting) == 0 or len(running) < cards:
        return
    ended = np.flatnonzero(true.ends <= now)
    seen = [(float(spans[at]), True) for at in ended] + [(float(now - true.starts[at]), False) for at in running]
    known = Spans([("pool", seen)])
    last = max(place for place in DEPTH if place < len(waiting))
    fleet, holds = pool_of(cards)
    runs = [
        Ends((hold,), ends_of(known, float(now - true.starts[at]), rng))
        for hold, at in zip(holds, running, strict=True)
    ]
    line = [Starts(int(at), request(int(at)), ends_of(known, 0.0, rng), "card") for at in waiting[: last + 1]]
    *_, found = look_ahead(fleet, runs, line, {}, RUNS)
    for place in DEPTH:
        if place <= last:
            begins = found.starts[int(waiting[place])]
            early, middle, late = range_of(begins)
            yield Asked(place, float(true.starts[waiting[place]] - now), early, middle, late)


def ends_of(known: Spans, elapsed: float, rng: np.random.Generator) -> np.ndarray:
    found = known.of(("pool",), elapsed)
    if found is None:
        return np.full(RUNS, np.inf)
    return found[1].lasting(elapsed, rng.random(RUNS)) - elapsed


def range_of(starts: Sequence[float]) -> tuple[float, float, float]:
    ordered, end = sorted(starts), (len(starts) + 1) // 10
    return ordered[end - 1], ordered[len(ordered) // 2], ordered[-end]


def pool_of(cards: int) -> tuple[Fleet, list[Hold]]:
    nodes = [
        NodeSpec(
            n, f"n{n}", "s", "", "", "r", 128_000, 2**20, tuple(DeviceSpec(n * 8 + i, i, "H", 80_000) for i in range(8))
        )
        for n in range(1, cards // 8 + 1)
    ]
    holds = [
        Hold(card.key, node.key, 10_000, 80_000, "exclusive", "", -1, 0, "t", "t", 0, 0)
        for node in nodes
        for card in node.devices
    ]
    return Fleet.build(nodes, holds), holds


def request(key: int) -> JobRequest:
    return JobRequest(key, "t", "t", (RoleRequest("w", ReplicaRequest(1, isolation="exclusive"), 1, 1),), 1)


def coverage(found: Sequence[Asked]) -> float:
    return sum(each.inside for each in found) / len(found)
