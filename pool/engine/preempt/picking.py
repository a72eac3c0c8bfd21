"""Which of the steps that make room are taken: the cheapest, as far as queues may lose that much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pool.engine.preempt import roster as t
from pool.engine.preempt.case import Case
from pool.engine.preempt.chunks import Chunks
from pool.engine.preempt.counting import Counting
from pool.engine.preempt.rights import Toll
from pool.engine.preempt.roster import Ints

MOST_REFUSED: Final = 64  # nodes in a round whose steps may not be taken, before it is given up


@dataclass(slots=True)
class Picking:
    """``begun`` goes already; ``blocked`` gathers what was in the way because it may not go."""

    case: Case
    counting: Counting
    begun: set[int]
    chunks: Chunks
    blocked: set[int] = field(default_factory=set)

    def cheapest(self, fits: Ints, toll: Toll, ahead: Ints) -> set[int] | None:
        """The first chunks that may go (rows with a larger figure in ``ahead`` before others) and give
        a topology domain enough; of several domains, those of the cheapest."""
        chunks, have = self.chunks, self.counting.by_domain(fits)
        domain = self.counting.domain[chunks.row]
        best: tuple[tuple[int, float, int], set[int]] | None = None
        for number in np.unique(domain):
            missing = self.counting.need - int(have[number])
            mine = np.flatnonzero(domain == number)
            mine = mine[np.argsort(-ahead[chunks.row[mine]], kind="stable")]
            if int(chunks.gain[mine].sum()) < missing:
                continue
            taken, chosen = self._take(mine, missing, toll.copy())
            worth = (int(chunks.grade[taken].max(initial=0)), float(chunks.cost[taken].sum()), int(number))
            if chosen is not None and (best is None or worth < best[0]):
                best = (worth, chosen)
        return None if best is None else best[1]

    def _take(self, mine: Ints, missing: int, toll: Toll) -> tuple[list[int], set[int] | None]:
        """Chunks in order until they give enough."""
        taken: list[int] = []
        chosen: set[int] = set()
        closed: set[int] = set()  # rows of which a chunk could not be taken
        for chunk in mine.tolist():
            if missing <= 0 or len(closed) > MOST_REFUSED:
                break
            row = int(self.chunks.row[chunk])
            if row in closed:
                continue
            places = self._may_go(chunk, row, chosen, toll)
            if places is None:
                closed.add(row)
                continue
            taken.append(chunk)
            chosen |= places
            missing -= int(self.chunks.gain[chunk])
        return taken, chosen if missing <= 0 else None

    def _may_go(self, chunk: int, row: int, chosen: set[int], toll: Toll) -> set[int] | None:
        """Take what a chunk needs besides what was chosen; None if that may not go."""
        case = self.case
        places = case.whole(self.chunks.places(chunk)) - chosen
        if toll.take(case.others(sorted(places))):
            return places
        needed = self._thinned(self.begun | chosen, self.chunks.places(chunk), row)
        places = case.whole(needed) - chosen
        if toll.take(case.others(sorted(places))):
            return places
        alone = {at for at in places if not toll.could(case.others(case.whole({at}) - chosen))}
        self.blocked |= alone or {max(places, key=lambda at: (*case.weight(at), at))}
        return None

    def _thinned(self, gone: set[int], places: set[int], row: int) -> set[int]:
        """A chunk without those of its pieces that do not help on its row, the dearest left out first."""
        case, rows = self.case, np.array([row])
        lines = case.lines_of(gone | places)
        fits = int(self.counting.without(rows, lines)[0])
        for at in sorted(places, key=lambda at: (*case.weight(at), at), reverse=True):
            fewer = lines[lines[:, t.UNIT] != at]
            if int(self.counting.without(rows, fewer)[0]) >= fits:
                lines, places = fewer, places - {at}
        return places
