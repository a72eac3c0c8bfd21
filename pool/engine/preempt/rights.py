"""Who may lose to whom.

Within a queue: lower priorities. From other queues: only what runs in queues that are over their
entitlement, as they must still be, and so must each queue above them (below the one that both
share), with any one of the pieces back that go; and only as long as the asking queue, and those above
it, stay within theirs. A queue at or under its quota is within its entitlement, so it never loses.

In turn goes what the queue's entitlement does not protect (units.py), and, for a job that will be
protected itself, any lower priority of its own queue. Other pieces may go out of turn, once a job,
where those in turn stand in the wrong place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pool.engine.preempt.roster import Roster
from pool.engine.preempt.types import Asking, Rules, Running
from pool.engine.preempt.units import Unit, protects
from pool.engine.sharing.amounts import Amounts, plus
from pool.engine.sharing.books import Books
from pool.engine.sharing.entitle import Entitlements
from pool.engine.sharing.tree import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Court:
    """Everything that rights depend on."""

    shares: Entitlements
    books: Books
    roster: Roster
    asking: Asking
    rules: Rules
    now_s: int

    def may_go(self, job: Running) -> bool:
        """Whether a running job may be evicted at all now."""
        rested = job.evicted_s is None or self.now_s - job.evicted_s >= self.rules.cooldown_s
        ran = self.now_s - job.started_s >= job.preempt_min_runtime_s
        return job.preemptible and rested and ran and job.key != self.asking.job.key

    def bound(self, queue: int) -> Amounts:
        """What the asking queue, or one above it, may take from others up to."""
        share = self.shares.shares[queue]
        return share.entitlement if self.rules.reclaim_to == "fair_share" else share.deserved

    def excess(self, queue: int) -> Amounts:
        """By how much a queue would pass that bound with the job, in what the job asks for."""
        asked = self.asking.amounts
        over = [
            max(0, u + a - b) if a else 0
            for u, a, b in zip(self.books.used[queue], asked, self.bound(queue), strict=True)
        ]
        return (over[0], over[1], over[2], over[3])

    def lower(self) -> dict[int, bool]:
        """Pieces of lower priority in the asking queue that may go; whether out of turn."""
        asking, roster = self.asking, self.roster
        entitlement = self.shares.of(asking.queue)
        mine = [n for n in roster.queues.get(asking.queue, ()) if self._lower(roster.units[n].job)]
        if not mine or protects(roster.of(asking.queue), entitlement, asking.priority, asking.amounts):
            return dict.fromkeys(mine, False)
        return self._turns(mine, roster.over(asking.queue, entitlement))

    def _lower(self, job: Running) -> bool:
        return job.priority < self.asking.priority and self.may_go(job)

    def others(self, scope: int) -> dict[int, bool]:
        """Pieces of other queues below ``scope`` that may go; whether out of turn."""
        tree, roster = self.shares.tree, self.roster
        found: dict[int, bool] = {}
        for queue in roster.queues:
            path = tree.path[queue]
            if queue == self.asking.queue or (scope != ROOT and scope not in path):
                continue
            if all(self._is_over(key) for key in between(tree, self.asking.queue, queue)):
                numbers = [n for n in roster.queues[queue] if self.may_go(roster.units[n].job)]
                found |= self._turns(numbers, roster.over(queue, self.shares.of(queue)))
        return found

    def _turns(self, numbers: list[int], over: list[int]) -> dict[int, bool]:
        in_turn, units = set(over), self.roster.units
        return {n: n not in in_turn for n in numbers if n in in_turn or not units[n].job.out_of_turn}

    def _is_over(self, queue: int) -> bool:
        pairs = zip(self.books.used[queue], self.shares.of(queue), strict=True)
        return any(used > entitled for used, entitled in pairs)


def between(tree: Tree, asking: int, queue: int) -> tuple[int, ...]:
    """A queue and those above it, below the one that it shares with the asking queue."""
    shared = tree.shared(asking, queue)
    path = tree.path[queue]
    return path[: path.index(shared)] if shared != ROOT else path


class Toll:
    """What other queues lose so far, and whether they may lose more."""

    def __init__(self, court: Court) -> None:
        self.court = court
        self.left: dict[int, Amounts] = {}  # what a queue is over its entitlement by
        self.parts: dict[int, frozenset[Amounts]] = {}  # sizes of what goes of a queue

    def take(self, units: Sequence[Unit]) -> bool:
        """Take these pieces of other queues, if all of them may go with what has gone already."""
        left: dict[int, Amounts] = dict(self.left)
        parts: dict[int, frozenset[Amounts]] = {}
        for unit in units:
            for key in between(self.court.shares.tree, self.court.asking.queue, unit.job.queue):
                left[key] = plus(left.get(key) or self._over(key), unit.amounts, -1)
                known = parts.get(key) or self.parts.get(key, frozenset())
                parts[key] = known if unit.amounts in known else known | {unit.amounts}
        if not all(_each_needed(left[key], mine) for key, mine in parts.items()):
            return False
        self.left, self.parts = left, self.parts | parts
        return True

    def could(self, units: Sequence[Unit]) -> bool:
        """Whether these could be taken now."""
        return self.copy().take(units)

    def copy(self) -> Toll:
        """One that can go on by itself."""
        other = Toll(self.court)
        other.left, other.parts = dict(self.left), dict(self.parts)
        return other

    def _over(self, key: int) -> Amounts:
        return plus(self.court.books.used[key], self.court.shares.of(key), -1)


def _each_needed(over: Amounts, parts: Iterable[Amounts]) -> bool:
    """Whether with any one of the parts back, the queue would be over in something of that part."""
    if all(part > 0 for part in over):
        return True
    return all(any(a and o + a > 0 for o, a in zip(over, part, strict=True)) for part in parts)


LATE: Final = 1_000  # grades of what goes out of turn begin here


def grades(units: dict[int, Unit], out_of_turn: dict[int, bool]) -> dict[int, int]:
    """Who goes first: replicas beyond a minimum (0), then in each queue the lowest priority (1), the
    next (2) and so on; out of turn, after all of those. Priorities of different queues are not
    compared: nobody escapes by a high one."""
    seen: dict[int, set[int]] = {}
    for unit in units.values():
        seen.setdefault(unit.job.queue, set()).add(unit.job.priority)
    levels = {queue: {p: at for at, p in enumerate(sorted(found), start=1)} for queue, found in seen.items()}
    return {
        number: LATE * out_of_turn[number] + (0 if unit.surplus else levels[unit.job.queue][unit.job.priority])
        for number, unit in units.items()
    }
