"""What a preemption is planned on, beyond the pool itself: the shares of the moment, what runs, rules and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import compress, decompress

import orjson

from pool.engine.preempt import Asking, Plan, Roster, Rules, Running
from pool.engine.sharing import Amounts, Books, Entitlements, QueueSpec, Tree, entitlements
from pool.engine.sharing.amounts import plus
from pool.scheduling.ledger import codec
from pool.scheduling.ledger.journal import Journal
from pool.scheduling.models import LedgerPlan

Lines = tuple[tuple[int, Amounts], ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """`demand` and `used` of leaves, `fixed` of work that cannot be preempted. `joined` and `left`: what of the
    running work is another than when the plan before this one of the chain was recorded."""

    mark: str
    tree: tuple[QueueSpec, ...]
    capacity: Amounts
    weights: tuple[tuple[int, int], ...]
    demand: Lines
    used: Lines
    fixed: Lines
    asking: Asking
    now_s: int
    rules: Rules
    joined: tuple[Running, ...]
    left: tuple[int, ...]

    def shares(self) -> Entitlements:
        return entitlements(Tree(self.tree, self.capacity), dict(self.demand), dict(self.weights))

    def books(self) -> Books:
        books, fixed = Books(Tree(self.tree, self.capacity)), dict(self.fixed)
        for leaf, amounts in self.used:
            unmoved = fixed.get(leaf, (0, 0, 0, 0))
            books.add(leaf, plus(amounts, unmoved, -1))
            books.add(leaf, unmoved, 1, preemptible=False)
        return books


class Recorder:
    """Remembers who ran when a plan was recorded last, so that the next one tells only what changed."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._told: dict[int, Running] = {}

    def record(
        self, shares: Entitlements, books: Books, roster: Roster, asking: Asking, now_s: int, rules: Rules, found: Plan
    ) -> tuple[LedgerPlan, Mapping[int, Running]]:
        """An unsaved row, its preemption not set, and what to give `stored` when it is durable."""
        tree, jobs = shares.tree, dict(roster.jobs)
        told = Recorded(
            mark=self.journal.mark(),
            tree=tuple(tree.specs.values()),
            capacity=tree.capacity,
            weights=tuple(shares.weights.items()),
            demand=_lines({leaf: shares.shares[leaf].demand for leaf in tree.leaves}),
            used=_lines({leaf: books.used[leaf] for leaf in tree.leaves}),
            fixed=_lines({leaf: books.fixed[leaf] for leaf in tree.leaves}),
            asking=asking,
            now_s=now_s,
            rules=rules,
            joined=tuple(job for key, job in jobs.items() if self._told.get(key) is not job),
            left=tuple(self._told.keys() - jobs.keys()),
        )
        row = LedgerPlan(
            base_id=self.journal.base,
            number=self.journal.plans,
            digest=codec.digest_of(found),
            content=compress(codec.dumps(told), 1),
        )
        return row, jobs

    def stored(self, jobs: Mapping[int, Running]) -> None:
        self._told = dict(jobs)
        self.journal.plans += 1


def _lines(amounts: dict[int, Any]) -> Lines:
    return tuple((leaf, each) for leaf, each in amounts.items() if any(each))


def read_plan(content: bytes) -> Recorded:
    """Raises ValueError for what is no plan of this version."""
    return codec.read(Recorded, orjson.loads(decompress(content)))  # type: ignore[no-any-return]
