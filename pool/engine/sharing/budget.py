"""GPU-hour budgets: what queues may use in a period, checked before a job starts.

A job is admitted against what it would use if it ran for all the time that it asked for; that much
is reserved. When it ends, what it really used is spent, and the rest of its reservation is free
again. A budget holds for a queue and everything below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pool.engine.sharing.tree import Tree

WhenSpent = Literal["nothing", "over_quota", "all"]


@dataclass(frozen=True, slots=True)
class Budget:
    """``unit_s``: GPU unit-seconds a period. ``when_spent``: what may not start once they are used
    up: all work, only work beyond the quota, or nothing (the budget then only tells)."""

    unit_s: int
    when_spent: WhenSpent = "all"

    def __post_init__(self) -> None:
        if self.unit_s < 0:
            raise ValueError(f"budget: {self.unit_s} unit-seconds is below 0")


@dataclass(frozen=True, slots=True)
class Spent:
    """Why a job may not start: ``queue`` has ``left`` unit-seconds and the job asks ``asked``."""

    queue: int
    asked: int
    left: int


@dataclass(slots=True)
class Purse:
    """Budgets by queue, what is spent of them, and what running jobs have reserved."""

    tree: Tree
    budgets: Mapping[int, Budget]
    spent: dict[int, int] = field(default_factory=dict)
    reserved: dict[int, int] = field(default_factory=dict)
    jobs: dict[int, tuple[int, int]] = field(default_factory=dict)  # job -> leaf, reserved

    def left(self, queue: int) -> int | None:
        """Unit-seconds that may still be reserved; None without a budget. Below 0 if a job without
        a time limit used more than there was."""
        if queue not in self.budgets:
            return None
        return self.budgets[queue].unit_s - self.spent.get(queue, 0) - self.reserved.get(queue, 0)

    def refuses(self, leaf: int, gpu: int, duration_s: int | None, in_quota: bool) -> Spent | None:
        """The first budget on the way up that a job does not fit in. ``duration_s`` None, no time
        limit: it starts while anything is left, and spends as it runs."""
        asked = 1 if duration_s is None else gpu * duration_s
        for queue in self.tree.path[leaf]:
            left = self.left(queue)
            if left is None or gpu == 0 or asked <= left:
                continue
            rule = self.budgets[queue].when_spent
            if rule == "all" or (rule == "over_quota" and not in_quota):
                return Spent(queue, asked, left)
        return None

    def start(self, job: int, leaf: int, gpu: int, duration_s: int | None) -> None:
        """Reserve what a job may use. ValueError if it has begun already."""
        if job in self.jobs:
            raise ValueError(f"job {job} has reserved already")
        self.jobs[job] = (leaf, gpu * (duration_s or 0))
        self._add(self.reserved, leaf, self.jobs[job][1])

    def end(self, job: int, used: int) -> None:
        """Spend what a job really used, in unit-seconds, and free the rest. Ending twice, or a job
        that never began, changes nothing."""
        if job not in self.jobs:
            return
        leaf, reserved = self.jobs.pop(job)
        self._add(self.reserved, leaf, -reserved)
        self._add(self.spent, leaf, used)

    def _add(self, where: dict[int, int], leaf: int, amount: int) -> None:
        for queue in self.tree.path[leaf]:
            where[queue] = where.get(queue, 0) + amount
