"""One question: which of these pieces must go so that this job fits?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pool.engine.fleet import Fleet
from pool.engine.preempt import roster as t
from pool.engine.preempt.rights import Toll
from pool.engine.preempt.roster import Ints, Roster
from pool.engine.preempt.units import Unit
from pool.engine.sharing.amounts import Amounts
from pool.engine.types import JobRequest, Policy


@dataclass(frozen=True, slots=True)
class Deficit:
    """Of ``members`` so many must go that at least ``amounts`` become free: what a limit or an
    entitlement lacks."""

    members: frozenset[int]
    amounts: Amounts


class Case:
    """``order``: numbers of the pieces that may go, those that should go first in front."""

    def __init__(
        self,
        fleet: Fleet,
        roster: Roster,
        job: JobRequest,
        policy: Policy,
        order: Sequence[int],
        grade: dict[int, int],
        cost: dict[int, int],
        deficits: list[Deficit],
        asking_queue: int,
        toll: Callable[[], Toll],
    ) -> None:
        self.fleet, self.roster, self.job, self.policy = fleet, roster, job, policy
        self.order, self.grade, self.cost, self.deficits = order, grade, cost, deficits
        self.asking_queue, self.toll = asking_queue, toll

    @cached_property
    def lines(self) -> Ints:
        """Holds of all that may go; the first column is the place in ``order`` instead of the
        number, and the lines are sorted by it."""
        table = self.roster.table(self.fleet)
        place = np.full(max(self.roster.units, default=0) + 1, -1, dtype=np.int64)
        place[list(self.order)] = np.arange(len(self.order))
        known = table[table[:, t.UNIT] < len(place)]
        places = place[known[:, t.UNIT]]
        mine = known[places >= 0].copy()
        mine[:, t.UNIT] = places[places >= 0]
        return mine[np.argsort(mine[:, t.UNIT], kind="stable")]

    def rows(self, place: int) -> Ints:
        """The rows that a piece is on."""
        first, last = np.searchsorted(self.lines[:, t.UNIT], (place, place + 1))
        return np.unique(self.lines[first:last, t.ROW])

    @cached_property
    def place(self) -> dict[int, int]:
        """By number of a piece, its place in ``order``."""
        return {number: at for at, number in enumerate(self.order)}

    def surplus(self, place: int) -> list[int]:
        """The places of what must go with a core; nothing goes with any other piece."""
        unit = self.unit(place)
        mine = () if unit.surplus else self.roster.numbers[unit.job.key]
        return [self.place[n] for n in mine if n in self.place and n != self.order[place]]

    def core(self, place: int) -> int | None:
        """The place of the core of a piece beyond a minimum, if that may go."""
        unit = self.unit(place)
        number = self.roster.core(unit.job.key) if unit.surplus else None
        return None if number is None else self.place.get(number)

    def unit(self, place: int) -> Unit:
        """The piece at a place of ``order``."""
        return self.roster.units[self.order[place]]

    def lines_of(self, chosen: set[int]) -> Ints:
        """The holds of the pieces at these places."""
        marked = np.zeros(len(self.order) + 1, dtype=bool)
        marked[list(chosen)] = True
        return self.lines[marked[self.lines[:, t.UNIT]]]

    def whole(self, chosen: set[int]) -> set[int]:
        """With all that must go as well because a core goes."""
        return chosen.union(*(self.surplus(at) for at in chosen))

    def others(self, places: Iterable[int]) -> list[Unit]:
        """The pieces at these places that are of other queues than the asking one."""
        return [unit for unit in map(self.unit, places) if unit.job.queue != self.asking_queue]

    def weight(self, place: int) -> tuple[int, int]:
        """What it means to lose a piece; larger is worse."""
        number = self.order[place]
        return self.grade[number], self.cost[number]

    def covers(self, chosen: set[int]) -> bool:
        """Whether every deficit is met if these go."""
        return not any(any(self._left(deficit, chosen)) for deficit in self.deficits)

    def _left(self, deficit: Deficit, chosen: set[int]) -> list[int]:
        """What is still missing, by resource."""
        left = list(deficit.amounts)
        for at in chosen:
            if self.order[at] in deficit.members:
                left = [max(0, a - b) for a, b in zip(left, self.unit(at).amounts, strict=True)]
        return left

    def forced(self, toll: Toll, chosen: set[int]) -> set[int] | None:
        """These, and enough of the first in order to meet the deficits; None if there are not
        enough. Adds to what the toll says has gone."""
        for deficit in self.deficits:
            for at in range(len(self.order)):
                left = self._left(deficit, chosen)
                if not any(left):
                    break
                helps = any(a and b for a, b in zip(left, self.unit(at).amounts, strict=True))
                more = self.whole({at}) - chosen
                if helps and self.order[at] in deficit.members and toll.take(self.others(more)):
                    chosen = chosen | more
            if any(self._left(deficit, chosen)):
                return None
        return chosen
