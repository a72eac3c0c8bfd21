"""What queues hold now, at every level, and whether a job may start there.

A queue is closed to others for what it uses and for what it keeps of its quota (quota less lending
limit). The sum over the top queues never passes the capacity, and the sum over a parent's children
never passes its limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pool.engine.sharing.amounts import NOTHING, RESOURCES, Amounts, plus
from pool.engine.sharing.tree import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Barred:
    """Why a job may not start in a queue even if cards are free.

    limit: of ``queue``, which closes ``used`` and may close ``most``. lending: what is free is the
    quota that ``queue`` keeps. quota: a job that cannot be preempted must stay within the quota of
    ``queue``.
    """

    kind: Literal["limit", "lending", "quota"]
    queue: int
    resource: str
    used: int
    most: int
    asked: int


class Books:
    """Counts by queue, kept in whole numbers by :meth:`add`; one call is O(depth)."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.used: dict[int, Amounts] = dict.fromkeys((ROOT, *tree.specs), NOTHING)
        self.fixed: dict[int, Amounts] = dict(self.used)  # by jobs that cannot be preempted
        self.floor: dict[int, Amounts] = {ROOT: NOTHING} | {key: tree.floor(key) for key in tree.specs}
        self.below: dict[int, Amounts] = dict(self.used)  # closed by children, or used by a leaf
        for key in tree.up:
            parent = tree.specs[key].parent
            self.below[parent] = plus(self.below[parent], self._closed(key))

    def _closed(self, key: int) -> Amounts:
        a, b = self.below[key], self.floor[key]
        return (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))

    def add(self, leaf: int, amounts: Amounts, times: int = 1, preemptible: bool = True) -> None:
        """A job starts (``times`` 1) or ends (-1)."""
        change = (amounts[0] * times, amounts[1] * times, amounts[2] * times, amounts[3] * times)
        closes = change
        for key in (*self.tree.path[leaf], ROOT):
            self.used[key] = plus(self.used[key], change)
            if not preemptible:
                self.fixed[key] = plus(self.fixed[key], change)
            before = self._closed(key)
            self.below[key] = plus(self.below[key], closes)
            closes = plus(self._closed(key), before, -1)

    def bars(self, leaf: int, amounts: Amounts, within_quota: bool = False) -> Barred | None:
        """The first bound on the way up that a job would pass, None if it may start. With
        ``within_quota`` (for a job that cannot be preempted) the quotas bound as well."""
        rises = amounts
        for key in (*self.tree.path[leaf], ROOT):
            for r in range(4):
                if not amounts[r]:
                    continue
                if within_quota and key != ROOT and self.fixed[key][r] + amounts[r] > self.tree.quota[key][r]:
                    used = self.fixed[key][r]
                    return Barred("quota", key, RESOURCES[r], used, self.tree.quota[key][r], amounts[r])
                most = self.tree.capacity[r] if key == ROOT else self.tree.specs[key].limit[r]
                if most is not None and rises[r] and self.below[key][r] + rises[r] > most:
                    kind, queue = self._cause(key, r, leaf, amounts[r], most)
                    return Barred(kind, queue, RESOURCES[r], self.below[key][r], most, amounts[r])
            before = self._closed(key)
            self_after = plus(self.below[key], rises)
            floor = self.floor[key]
            after = tuple(max(a, b) for a, b in zip(self_after, floor, strict=True))
            rises = (after[0] - before[0], after[1] - before[1], after[2] - before[2], after[3] - before[3])
        return None

    def room(self, leaf: int, first: Amounts, each: Amounts, most: int) -> int:
        """How many replicas of ``each`` may start besides ``first`` (a gang's minimum, say), up to
        ``most``: an elastic job is not to grow past a limit that its minimum meets."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.bars(leaf, plus(first, each, middle)) is None:
                low = middle
            else:
                high = middle - 1
        return low

    def _cause(self, key: int, r: int, leaf: int, asked: int, most: int) -> tuple[Literal["limit", "lending"], int]:
        """A limit, unless only what other queues keep of their quotas stands in the way."""
        if self.used[key][r] + asked > most and key != ROOT:
            return "limit", key
        keepers = self._keepers(key, r, leaf)
        if not keepers:
            return "limit", key
        return "lending", min(keepers, key=lambda queue: (self.used[queue][r] - self.floor[queue][r], queue))

    def _keepers(self, key: int, r: int, leaf: int) -> list[int]:
        below = [queue for queue in self.tree.specs if key == ROOT or key in self.tree.path[queue]]
        mine = set(self.tree.path[leaf])
        return [queue for queue in below if queue not in mine and self.below[queue][r] < self.floor[queue][r]]
