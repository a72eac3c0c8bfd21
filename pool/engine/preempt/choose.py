"""The pieces that go, found by counting: cheapest steps first, then whatever is not needed stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pool.engine.preempt.case import Case
from pool.engine.preempt.chunks import chunks_of
from pool.engine.preempt.counting import Counting
from pool.engine.preempt.picking import Picking
from pool.engine.preempt.prune import prune
from pool.engine.preempt.roster import Ints

MOST_ROUNDS: Final = 6


def choose(case: Case, counting: Counting) -> set[int] | None:
    """Places in ``order`` of what must go, none of which could stay; None if none was found that
    may go and lets the job in.

    Where queues may lose only so much, what was taken first can stand in the way of what is needed
    later. So if the first round fails, what could not be taken goes first in the second; then
    what could not be taken there is left out; then, round by round, what could not be taken before.
    """
    everything = counting.after(case.lines)
    if not counting.enough(everything):
        return None
    for late in (False, True) if case.deficits else (False,):
        chosen = _rounds(_Round(case, counting, everything, late))
        if chosen is not None:
            return prune(case, counting, chosen)
    return None


def _rounds(one: _Round) -> set[int] | None:
    chosen, first = one.run(set(), set())
    if chosen is not None or not first:
        return chosen
    chosen, second = one.run(first, set())
    if chosen is None and second:
        chosen, _ = one.run(first - second, second)
    barred = first
    for _ in range(MOST_ROUNDS):
        if chosen is not None:
            break
        chosen, more = one.run(set(), barred)
        if more <= barred:
            break
        barred = barred | more
    return chosen


@dataclass(frozen=True, slots=True)
class _Round:
    """``late``: deficits are met after room has been made, not before."""

    case: Case
    counting: Counting
    everything: Ints
    late: bool

    def run(self, ahead: set[int], barred: set[int]) -> tuple[set[int] | None, set[int]]:
        """Enough pieces, those ``ahead`` first and without those ``barred``; and what could not go."""
        case, counting, toll = self.case, self.counting, self.case.toll()
        begun = set() if self.late else case.forced(toll, set())
        if begun is None:
            return None, set()
        fits = counting.after(case.lines_of(begun))
        blocked: set[int] = set()
        if not counting.enough(fits):
            rows = _useful(counting, fits, self.everything)
            chunks = chunks_of(case, counting, begun | barred, rows, begun)
            largest = np.zeros(len(fits), dtype=np.int64)  # of those ahead on each row
            for at in ahead:
                np.maximum.at(largest, case.rows(at), case.unit(at).share_bp)
            picking = Picking(case, counting, begun, chunks)
            chosen, blocked = picking.cheapest(fits, toll, largest), picking.blocked
            if chosen is None:
                return None, blocked
            begun = begun | chosen
            toll.take(case.others(sorted(chosen)))
        return case.forced(toll, begun), blocked


def _useful(counting: Counting, fits: Ints, everything: Ints) -> Ints:
    """Rows where more would fit, in domains that could hold the job."""
    could = counting.by_domain(everything) >= counting.need
    return np.flatnonzero((everything > fits) & could[counting.domain])
