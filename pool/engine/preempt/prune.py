"""Putting back whatever need not go, the dearest first.

More room never fits less, so a piece that could not stay when others were still to go cannot stay
when fewer go either: each is tried once, and what remains is minimal.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pool.engine.preempt import roster as t
from pool.engine.preempt.case import Case
from pool.engine.preempt.counting import Counting
from pool.engine.preempt.roster import Ints

FEW: Final = 48  # up to so many are tried one by one


def prune(case: Case, counting: Counting, chosen: set[int]) -> set[int]:
    """The pieces (places in ``order``) that must go."""
    left = _Left(case, counting, set(chosen))
    bound = frozenset().union(*(deficit.members for deficit in case.deficits))
    alone = {at for at in chosen if len(case.rows(at)) == 1 and case.order[at] not in bound}
    for surplus in (False, True):  # a core first: what goes with it may stay once the core does
        mine = [at for at in left.by_weight() if case.unit(at).surplus == surplus]
        left.one_by_one([at for at in mine if at not in alone or len(chosen) <= FEW])
        if len(chosen) > FEW:
            left.at_once([at for at in mine if at in alone])
            if left.spare > 0:
                left.one_by_one([at for at in mine if at in alone and at in left.going])
                left.at_once([at for at in mine if at in alone])
    return left.going


class _Left:
    """What still goes, and by how many replicas that is more than needed."""

    def __init__(self, case: Case, counting: Counting, going: set[int]) -> None:
        self.case, self.counting, self.going = case, counting, going
        self.lines = case.lines_of(going)
        self.fits = counting.after(self.lines)
        by_domain = counting.by_domain(self.fits)
        self.domain = int(by_domain.argmax())
        self.spare = int(by_domain[self.domain]) - counting.need

    def by_weight(self) -> list[int]:
        """The dearest first."""
        return sorted(self.going, key=lambda at: (*self.case.weight(at), at), reverse=True)

    def _may_stay(self, at: int) -> bool:
        return at in self.going and self.case.core(at) not in self.going

    def _put_back(self, stays: Ints, rows: Ints, fits: Ints) -> None:
        self.going -= {int(at) for at in stays}
        self.lines = self.lines[~np.isin(self.lines[:, t.UNIT], stays)]
        inside = self.counting.domain[rows] == self.domain
        self.spare -= int((self.fits[rows] - fits)[inside].sum())
        self.fits[rows] = fits

    def one_by_one(self, places: list[int]) -> None:
        """Try each by itself."""
        for at in places:
            if not self._may_stay(at):
                continue
            rows = self.case.rows(at)
            fits = self.counting.without(rows, self.lines[self.lines[:, t.UNIT] != at])
            inside = self.counting.domain[rows] == self.domain
            lost = int((self.fits[rows] - fits)[inside].sum())
            if lost <= self.spare and self.case.covers(self.going - {at}):
                self._put_back(np.array([at]), rows, fits)

    def at_once(self, places: list[int]) -> None:
        """Try one of each row at a time, on all rows together; keep what costs no replica there."""
        queues: dict[int, list[int]] = {}
        for at in places:
            if self._may_stay(at):
                queues.setdefault(int(self.case.rows(at)[0]), []).append(at)
        while queues:
            rows = np.array(sorted(queues), dtype=np.int64)
            tried = np.array([queues[int(row)].pop(0) for row in rows], dtype=np.int64)
            fits = self.counting.without(rows, self.lines[~np.isin(self.lines[:, t.UNIT], tried)])
            same = fits >= self.fits[rows]
            elsewhere = self.counting.domain[rows] != self.domain
            stay = same | elsewhere
            self._put_back(tried[stay], rows[stay], fits[stay])
            queues = {row: left for row, left in queues.items() if left}
