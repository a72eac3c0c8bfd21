"""What each queue of the tree is entitled to, from the top down.

At each level, first the quotas: every queue's claim is what it and those below it want, and what it
never lends, up to its quota; if the claims are more than there is, by_quota scales them in
proportion. Then the rest by_weight. What a parent gets is divided among its children in the same
way. A limit caps what a queue can want, at every level. A parent's entitlement is the sum of its
children's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pool.engine.sharing.amounts import NOTHING, Amounts, plus
from pool.engine.sharing.filling import Ints, by_quota, by_weight
from pool.engine.sharing.tree import LARGEST, ROOT, Tree


@dataclass(frozen=True, slots=True)
class Share:
    """``demand`` as told, ``want`` after limits (a parent's: with what its children keep back);
    ``deserved`` is the part covered by quota, ``entitlement`` deserved and over-quota part in one;
    ``withheld`` what it keeps of its quota and does not use; ``budget`` all that it was given."""

    demand: Amounts
    want: Amounts
    deserved: Amounts
    entitlement: Amounts
    withheld: Amounts
    budget: Amounts

    @property
    def over_quota(self) -> Amounts:
        """The part beyond the quota."""
        return plus(self.entitlement, self.deserved, -1)


@dataclass(frozen=True, slots=True)
class Entitlements:
    """Shares by queue. ``weights``: the over-quota weights that were used."""

    tree: Tree
    shares: Mapping[int, Share]
    weights: Mapping[int, int]

    def of(self, key: int) -> Amounts:
        """A queue's entitlement; of :data:`ROOT`, the capacity."""
        return self.tree.capacity if key == ROOT else self.shares[key].entitlement


def entitlements(tree: Tree, demand: Mapping[int, Amounts], weights: Mapping[int, int] | None = None) -> Entitlements:
    """Shares for these demands of leaves (what their jobs hold and what those that could run wait
    for). ``weights`` (thousandths) stand in for the queues' own, such as those of history.py.
    ValueError for a demand of a queue that is no leaf, or a negative one."""
    leaves = set(tree.leaves)
    for key, amounts in demand.items():
        if key not in leaves:
            raise ValueError(f"demand: {key} is not a queue without children")
        if any(not 0 <= amount <= LARGEST for amount in amounts):
            raise ValueError(f"demand of {key}: {amounts} is outside 0 to {LARGEST}")
    used = {key: spec.weight for key, spec in tree.specs.items()} | dict(weights or {})
    level = _Levels(tree, demand, used)
    level.gather()
    level.divide(ROOT, tree.capacity)
    for key in tree.down:
        if key in tree.children:
            level.divide(key, level.budget[key])
    return Entitlements(tree, level.shares(), used)


class _Levels:
    """The two passes: wants upwards, budgets downwards."""

    def __init__(self, tree: Tree, demand: Mapping[int, Amounts], weights: Mapping[int, int]) -> None:
        self.tree, self.weights = tree, weights
        self.demand: dict[int, Amounts] = {key: demand.get(key, NOTHING) for key in tree.leaves}
        self.want: dict[int, Amounts] = {}
        self.hold: dict[int, Amounts] = {}  # want, or what is kept back if that is more
        self.base: dict[int, Amounts] = {}
        self.budget: dict[int, Amounts] = {}

    def gather(self) -> None:
        tree = self.tree
        for key in tree.up:
            limit = tuple(LARGEST if value is None else value for value in tree.specs[key].limit)
            below, total = self.demand.get(key, NOTHING), NOTHING
            for child in tree.children.get(key, ()):
                total = plus(total, self.demand[child])
                below = plus(below, self.hold[child])
            if key in tree.children:
                self.demand[key] = total
            want = [min(b, top) for b, top in zip(below, limit, strict=True)]
            kept = [min(f, top) for f, top in zip(tree.floor(key), limit, strict=True)]
            hold = [max(w, k) for w, k in zip(want, kept, strict=True)]
            self.want[key] = (want[0], want[1], want[2], want[3])
            self.hold[key] = (hold[0], hold[1], hold[2], hold[3])

    def divide(self, parent: int, budget: Amounts) -> None:
        """Divide a parent's budget among its children."""
        keys = self.tree.children.get(parent, ())
        if not keys:
            return
        specs = self.tree.specs
        quota, hold, want = (_table(source, keys) for source in (self.tree.quota, self.hold, self.want))
        whole = np.array(budget, dtype=np.int64)
        base = by_quota(np.minimum(hold, quota), quota, whole)
        over = by_weight(
            np.maximum(want - base, 0),
            np.array([self.weights[key] for key in keys], dtype=np.int64),
            np.array([specs[key].bucket for key in keys], dtype=np.int64),
            whole - base.sum(axis=0),
            np.array(self.tree.capacity, dtype=np.int64),
        )
        for key, first, second in zip(keys, base.tolist(), (base + over).tolist(), strict=True):
            self.base[key] = (first[0], first[1], first[2], first[3])
            self.budget[key] = (second[0], second[1], second[2], second[3])

    def shares(self) -> dict[int, Share]:
        found: dict[int, Share] = {}
        for key in self.tree.up:
            base, budget = self.base[key], self.budget[key]
            total = NOTHING
            for child in self.tree.children.get(key, ()):
                total = plus(total, found[child].entitlement)
            if key not in self.tree.children:
                total = _least(self.want[key], budget)
            deserved = _least(total, base)
            found[key] = Share(self.demand[key], self.want[key], deserved, total, plus(budget, total, -1), budget)
        return found


def _least(a: Amounts, b: Amounts) -> Amounts:
    return (min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))


def _table(source: Mapping[int, Amounts], keys: tuple[int, ...]) -> Ints:
    return np.array([source[key] for key in keys], dtype=np.int64).reshape(len(keys), 4)
