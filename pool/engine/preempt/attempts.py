"""The ways in which room could be made for a job, in the order in which they are tried.

1. A queue that stays within its entitlement takes from others that are over theirs, from the
   nearest first (its siblings, then its parent's siblings, and so on).
2. The job takes the place of lower priorities in its own queue.
3. Both together: as much of its own queue's goes as brings the queue within its entitlement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pool.engine.preempt.case import Deficit
from pool.engine.preempt.rights import Court, grades
from pool.engine.sharing.amounts import NOTHING, Amounts
from pool.engine.sharing.tree import ROOT


@dataclass(frozen=True, slots=True)
class Attempt:
    """Pieces that may go, first in ``order`` those that should go first; whether out of turn."""

    order: tuple[int, ...]
    late: dict[int, bool]
    grade: dict[int, int]
    cost: dict[int, int]
    inside: tuple[int, ...]  # queues whose entitlement bounds: the asking one and those above it


def attempts(court: Court) -> Iterator[Attempt]:
    """See the module."""
    asking, tree = court.asking, court.shares.tree
    path = tree.path[asking.queue]
    if not any(court.excess(asking.queue)):
        yield from _outward(court, {}, path)
    own = court.lower()
    if own:
        yield _attempt(court, own, ())
        yield from _outward(court, own, path)


def _outward(court: Court, own: dict[int, bool], path: tuple[int, ...]) -> Iterator[Attempt]:
    before = 0
    for depth, scope in enumerate((*path[1:], ROOT), start=1):
        others = court.others(scope)
        if len(others) > before:
            yield _attempt(court, own | others, path[:depth])
        before = len(others)


def _attempt(court: Court, late: dict[int, bool], inside: tuple[int, ...]) -> Attempt:
    units = {n: court.roster.units[n] for n in late}
    cost = {n: unit.cost(court.now_s) for n, unit in units.items()}
    grade = grades(units, late)
    # sorted by grade, cost, name: ranks of names first, then numbers alone
    names = sorted(units, key=lambda n: units[n].name)
    order = np.lexsort(([cost[n] for n in names], [grade[n] for n in names]))
    return Attempt(tuple(names[at] for at in order.tolist()), late, grade, cost, inside)


def deficits(court: Court, attempt: Attempt, numbers: Sequence[int]) -> list[Deficit]:
    """What must become free besides room for the job: what limits lack, and entitlements within
    which the asking queue and those above it must stay. From the deepest queue up."""
    tree, asking, books = court.shares.tree, court.asking, court.books
    found = []
    for key in tree.path[asking.queue]:
        most = court.excess(key) if key in attempt.inside else NOTHING
        lacks = [0, 0, 0, 0]
        for r, limit in enumerate(tree.specs[key].limit):
            if limit is not None and asking.amounts[r]:
                lacks[r] = max(0, books.below[key][r] + asking.amounts[r] - limit)
        amounts: Amounts = (
            max(most[0], lacks[0]),
            max(most[1], lacks[1]),
            max(most[2], lacks[2]),
            max(most[3], lacks[3]),
        )
        if any(amounts):
            below = frozenset(n for n in numbers if key in tree.path[court.roster.units[n].job.queue])
            found.append(Deficit(below, amounts))
    return found
