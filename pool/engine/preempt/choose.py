"""The pieces that go, found by counting: cheapest steps first, then whatever is not needed stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pool.engine.preempt import roster as t
from pool.engine.preempt.case import Case
from pool.engine.preempt.chunks import Chunks, chunks_of
from pool.engine.preempt.counting import Counting
from pool.engine.preempt.prune import prune
from pool.engine.preempt.rights import Toll
from pool.engine.preempt.roster import Ints

MOST_ROUNDS: Final = 6
MOST_REFUSED: Final = 64  # nodes in a round whose steps may not be taken, before it is given up


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
            chosen, blocked = _cheapest(case, counting, begun, fits, chunks, toll, largest)
            if chosen is None:
                return None, blocked
            begun = begun | chosen
            toll.take(case.others(sorted(chosen)))
        return case.forced(toll, begun), blocked


def _useful(counting: Counting, fits: Ints, everything: Ints) -> Ints:
    """Rows where more would fit, in domains that could hold the job."""
    could = counting.by_domain(everything) >= counting.need
    return np.flatnonzero((everything > fits) & could[counting.domain])


def _cheapest(
    case: Case, counting: Counting, begun: set[int], fits: Ints, chunks: Chunks, toll: Toll, ahead: Ints
) -> tuple[set[int] | None, set[int]]:
    """The first chunks that may go (rows with a larger figure in ``ahead`` before others) and give a
    domain enough, of several domains the cheapest; and the pieces that may not go."""
    have = counting.by_domain(fits)
    domain = counting.domain[chunks.row]
    best: tuple[tuple[int, float, int], set[int]] | None = None
    barred: set[int] = set()
    for number in np.unique(domain):
        missing = counting.need - int(have[number])
        mine = np.flatnonzero(domain == number)
        mine = mine[np.argsort(-ahead[chunks.row[mine]], kind="stable")]
        if int(chunks.gain[mine].sum()) < missing:
            continue
        taken, chosen = _take(case, counting, begun, chunks, mine, missing, toll.copy(), barred)
        worth = (int(chunks.grade[taken].max(initial=0)), float(chunks.cost[taken].sum()), int(number))
        if chosen is not None and (best is None or worth < best[0]):
            best = (worth, chosen)
    return (None if best is None else best[1]), barred


def _take(
    case: Case,
    counting: Counting,
    begun: set[int],
    chunks: Chunks,
    mine: Ints,
    missing: int,
    toll: Toll,
    barred: set[int],
) -> tuple[list[int], set[int] | None]:
    """Chunks in order until they give enough; notes in ``barred`` what may not go."""
    taken: list[int] = []
    chosen: set[int] = set()
    closed: set[int] = set()  # rows of which a chunk could not be taken
    for chunk in mine.tolist():
        if missing <= 0 or len(closed) > MOST_REFUSED:
            break
        row = int(chunks.row[chunk])
        if row in closed:
            continue
        places = case.whole(chunks.places(chunk)) - chosen
        may_go = toll.take(case.others(sorted(places)))
        if not may_go:
            places = case.whole(_thinned(case, counting, begun | chosen, chunks.places(chunk), row)) - chosen
            may_go = toll.take(case.others(sorted(places)))
        if may_go:
            taken.append(chunk)
            chosen |= places
            missing -= int(chunks.gain[chunk])
            continue
        closed.add(row)
        alone = {at for at in places if not toll.could(case.others(case.whole({at}) - chosen))}
        barred |= alone or {max(places, key=lambda at: (*case.weight(at), at))}
    return taken, chosen if missing <= 0 else None


def _thinned(case: Case, counting: Counting, gone: set[int], places: set[int], row: int) -> set[int]:
    """A chunk without those of its pieces that do not help on its row, the dearest left out first."""
    rows = np.array([row])
    lines = case.lines_of(gone | places)
    fits = int(counting.without(rows, lines)[0])
    for at in sorted(places, key=lambda at: (*case.weight(at), at), reverse=True):
        fewer = lines[lines[:, t.UNIT] != at]
        if int(counting.without(rows, fewer)[0]) >= fits:
            lines, places = fewer, places - {at}
    return places
