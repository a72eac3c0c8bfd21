"""The pieces that go, found by counting: cheapest steps first, then whatever is not needed stays."""

from __future__ import annotations

from typing import Final

import numpy as np

from pool.engine.preempt.case import Case
from pool.engine.preempt.chunks import Chunks, chunks_of
from pool.engine.preempt.counting import Counting
from pool.engine.preempt.prune import prune
from pool.engine.preempt.rights import Toll
from pool.engine.preempt.roster import Ints

ROUNDS: Final = 4  # how often what must not go is left out and the rest tried again


def choose(case: Case, counting: Counting) -> set[int] | None:
    """Places in ``order`` of what must go, none of which could stay; None if none was found that
    may go and lets the job in."""
    everything = counting.after(case.lines)
    if not counting.enough(everything):
        return None
    barred: set[int] = set()
    for _ in range(ROUNDS):
        toll = case.toll()
        begun = case.forced(toll)
        if begun is None:
            return None
        fits = counting.after(case.lines_of(begun))
        if counting.enough(fits):
            return prune(case, counting, begun)
        chunks = chunks_of(case, counting, begun | barred, _useful(counting, fits, everything), begun)
        chosen, more = _cheapest(case, counting, fits, chunks, toll)
        if chosen is not None:
            return prune(case, counting, begun | chosen)
        if not more - barred:
            return None
        barred |= more
    return None


def _useful(counting: Counting, fits: Ints, everything: Ints) -> Ints:
    """Rows where more would fit, in domains that could hold the job."""
    could = counting.by_domain(everything) >= counting.need
    return np.flatnonzero((everything > fits) & could[counting.domain])


def _cheapest(
    case: Case, counting: Counting, fits: Ints, chunks: Chunks, toll: Toll
) -> tuple[set[int] | None, set[int]]:
    """The first chunks that may go and give a domain enough (of several domains, the cheapest), and
    the pieces that were in the way because they may not go."""
    have = counting.by_domain(fits)
    domain = counting.domain[chunks.row]
    best: tuple[tuple[int, float, int], set[int]] | None = None
    barred: set[int] = set()
    for number in np.unique(domain):
        missing = counting.need - int(have[number])
        mine = np.flatnonzero(domain == number)
        if int(chunks.gain[mine].sum()) < missing:
            continue
        taken, chosen = _take(case, chunks, mine, missing, toll.copy(), barred)
        worth = (int(chunks.grade[taken].max(initial=0)), float(chunks.cost[taken].sum()), int(number))
        if chosen is not None and (best is None or worth < best[0]):
            best = (worth, chosen)
    return (None if best is None else best[1]), barred


def _take(
    case: Case, chunks: Chunks, mine: Ints, missing: int, toll: Toll, barred: set[int]
) -> tuple[list[int], set[int] | None]:
    """Chunks in order until they give enough; notes in ``barred`` what may not go."""
    taken: list[int] = []
    chosen: set[int] = set()
    closed: set[int] = set()  # rows of which a chunk could not be taken
    for chunk in mine.tolist():
        if missing <= 0:
            break
        row = int(chunks.row[chunk])
        if row in closed:
            continue
        places = case.whole(chunks.places(chunk)) - chosen
        if toll.take(case.others(sorted(places))):
            taken.append(chunk)
            chosen |= places
            missing -= int(chunks.gain[chunk])
            continue
        closed.add(row)
        barred.update(at for at in places if not toll.could(case.others(case.whole({at}) - chosen)))
    return taken, chosen if missing <= 0 else None
