"""Which nodes carry work of which job labels, and what that work keeps away.

Only holds of jobs with labels or repulsions are counted, so that a pool without them pays
nothing. Labels are seen within a tenant: nobody learns of another tenant's work by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from pool.engine.affinity import Affinity
from pool.engine.selectors import Labels, Selector, matches
from pool.engine.types import Hold

K = TypeVar("K", tuple[str, Labels], tuple[str, Affinity])
# tenant, what its work carries or repels, and (node, holds) of each node with such work
Carried = tuple[str, Labels, tuple[tuple[int, int], ...]]
Repelled = tuple[str, Affinity, tuple[tuple[int, int], ...]]


class Labelled:
    """Counts of holds by node. ``below``: what this one adds to, itself untouched (a scratch)."""

    def __init__(self, below: Labelled | None = None) -> None:
        self.below = below
        self._carried: dict[tuple[str, Labels], Counter[int]] = {}
        self._repelled: dict[tuple[str, Affinity], Counter[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._carried or self._repelled or self.below)

    @property
    def repels(self) -> bool:
        """Whether any live work keeps other work away."""
        return bool(self._repelled) or (self.below is not None and self.below.repels)

    def add(self, hold: Hold, sign: int = 1) -> None:
        """Count a hold in, or with ``sign`` -1 out."""
        if hold.labels:
            _count(self._carried, (hold.tenant, hold.labels), hold.node_key, sign)
        for term in hold.repels:
            _count(self._repelled, (hold.tenant, term), hold.node_key, sign)

    def drop(self, node_key: int) -> None:
        """Forget all of one node."""
        _drop(self._carried, node_key)
        _drop(self._repelled, node_key)

    def nodes(self, tenant: str, selector: Selector) -> set[int]:
        """Nodes with live work of the tenant whose labels meet a selector."""
        counts: Counter[int] = Counter()
        for layer in self._layers():
            for (owner, labels), nodes in layer._carried.items():
                if owner == tenant and matches(selector, dict(labels)):
                    counts.update(nodes)
        return {node for node, count in counts.items() if count > 0}

    def repelling(self, tenant: str, labels: Labels) -> Iterator[tuple[Affinity, set[int]]]:
        """The repulsions that a job with these labels meets, with the nodes they start from."""
        found: dict[Affinity, Counter[int]] = {}
        for layer in self._layers():
            for (owner, term), nodes in layer._repelled.items():
                if owner == tenant and matches(term.selector, dict(labels)):
                    found.setdefault(term, Counter()).update(nodes)
        for term, counts in found.items():
            yield term, {node for node, count in counts.items() if count > 0}

    def content(self) -> list[str]:
        """Everything, in an order that history has no part in."""
        carried = [repr((key, sorted(nodes.items()))) for key, nodes in self._carried.items()]
        repelled = [repr((key, sorted(nodes.items()))) for key, nodes in self._repelled.items()]
        return sorted(carried) + sorted(repelled)

    def lines(self) -> tuple[tuple[Carried, ...], tuple[Repelled, ...]]:
        """All counts as plain data. Not of a scratch."""
        carried = tuple((owner, labels, tuple(nodes.items())) for (owner, labels), nodes in self._carried.items())
        repelled = tuple((owner, term, tuple(nodes.items())) for (owner, term), nodes in self._repelled.items())
        return carried, repelled

    def restore(self, carried: Iterable[Carried], repelled: Iterable[Repelled]) -> None:
        """What :meth:`lines` told, in place of what was counted so far."""
        self._carried = {(owner, labels): Counter(dict(nodes)) for owner, labels, nodes in carried}
        self._repelled = {(owner, term): Counter(dict(nodes)) for owner, term, nodes in repelled}

    def _layers(self) -> Iterator[Labelled]:
        layer: Labelled | None = self
        while layer is not None:
            yield layer
            layer = layer.below


def _count(table: dict[K, Counter[int]], key: K, node: int, sign: int) -> None:
    nodes = table.setdefault(key, Counter())
    nodes[node] += sign
    if not nodes[node]:
        del nodes[node]
    if not nodes:
        del table[key]


def _drop(table: dict[K, Counter[int]], node: int) -> None:
    for key in [key for key, nodes in table.items() if node in nodes]:
        _count(table, key, node, -table[key][node])
