"""Whose turn it is: the order in which queues take their next job.

From the top of the tree down, the first of these among siblings with work that waits:
1. those below their deserved quota before all others, the least served first (used over deserved,
   in the resource in which that is most);
2. then by bucket, the higher first; in a bucket the lowest level first, the level being the dominant
   share of what is used beyond the deserved part, over the weight; weight 0 comes after all others;
3. equal ones by the lowest key.

All are whole numbers, so equal states order alike. A start or an end moves the queues on one path:
O(depth x log siblings).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator
from typing import Final

from pool.engine.sharing.amounts import Amounts
from pool.engine.sharing.books import Books
from pool.engine.sharing.entitle import Entitlements
from pool.engine.sharing.tree import ROOT

Rank = tuple[int, int, int, int]  # class, minus bucket, level, queue
BELOW_QUOTA, BY_WEIGHT, WEIGHTLESS = 0, 1, 2
FINE: Final = 40  # bits of a level


class Order:
    """Kept beside :class:`Books`: tell it what waits and what changed."""

    def __init__(self, shares: Entitlements, books: Books) -> None:
        self.shares, self.books = shares, books
        self.waiting: dict[int, int] = {}  # by queue, itself and below
        self.ranks: dict[int, Rank] = {}
        self.lines: dict[int, list[Rank]] = {}

    def wait(self, leaf: int, more: int = 1) -> None:
        """So many more jobs wait in a queue (below 0: fewer)."""
        for queue in self.shares.tree.path[leaf]:
            self.waiting[queue] = self.waiting.get(queue, 0) + more
            if self.waiting[queue] < 0:
                raise ValueError(f"queue {queue}: fewer jobs wait than were taken away")
            self._place(queue)

    def changed(self, leaf: int) -> None:
        """What the books say of a queue has changed."""
        for queue in self.shares.tree.path[leaf]:
            self._place(queue)

    def renew(self, shares: Entitlements) -> None:
        """Go on with new entitlements of the same tree."""
        self.shares = shares
        for queue in self.waiting:
            self._place(queue)

    def first(self, without: Collection[int] = ()) -> int | None:
        """The queue whose turn it is, leaving some out."""
        return next((queue for queue in self.turns() if queue not in without), None)

    def turns(self, parent: int = ROOT) -> Iterator[int]:
        """All leaves with work that waits, in order. Do not change anything while it runs."""
        for *_, queue in self.lines.get(parent, ()):
            if queue in self.shares.tree.children:
                yield from self.turns(queue)
            else:
                yield queue

    def rank(self, queue: int) -> Rank:
        """A queue's place among its siblings; the smallest is first."""
        share = self.shares.shares[queue]
        used, deserved = self.books.used[queue], share.deserved
        served = _served(used, deserved)
        if served is not None:
            return (BELOW_QUOTA, 0, served, queue)
        over = _over(used, deserved, self.shares.tree.capacity)
        weight = self.shares.weights[queue]
        bucket = -self.shares.tree.specs[queue].bucket
        return (BY_WEIGHT, bucket, over // weight, queue) if weight else (WEIGHTLESS, bucket, over, queue)

    def _place(self, queue: int) -> None:
        line = self.lines.setdefault(self.shares.tree.specs[queue].parent, [])
        old = self.ranks.pop(queue, None)
        if old is not None:
            del line[bisect_left(line, old)]
        if self.waiting.get(queue, 0):
            self.ranks[queue] = self.rank(queue)
            insort(line, self.ranks[queue])


def _served(used: Amounts, deserved: Amounts) -> int | None:
    """The largest of used over deserved, as a level, of the resources in which it is below; None
    if there is none, or if more than the deserved part is used of any."""
    level = -1
    for u, d in zip(used, deserved, strict=True):
        if u > d:
            return None
        if u < d:
            level = max(level, (u << FINE) // d)
    return None if level < 0 else level


def _over(used: Amounts, deserved: Amounts, capacity: Amounts) -> int:
    """The dominant share of what is used beyond the deserved part, as a level."""
    level = 0
    for u, d, c in zip(used, deserved, capacity, strict=True):
        if u > d:
            level = max(level, ((u - d) << FINE) // (c or 1))
    return level
