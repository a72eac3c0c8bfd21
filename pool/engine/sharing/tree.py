"""The tree of queues, checked, with every missing quota filled in.

A quota that is not given: for a leaf, as large a share of the capacity as the largest share among
those that it gives (none given: 0), so that a guarantee of cards is not void for want of CPU;
for a parent, the sum of its children's. 0 is 0: nothing is guaranteed. A limit that is not given
does not bound; 0 lets nothing run. A lending limit that is not given lends all of the quota that
is not used; 0 lends none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pool.engine.sharing.amounts import RESOURCES, Amounts

Optional = tuple[int | None, int | None, int | None, int | None]
UNSET: Final[Optional] = (None, None, None, None)
ROOT: Final = 0  # stands above the queues without a parent; no queue has this key
LARGEST: Final = 2**50
MOST_WEIGHT: Final = 10**9


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """One queue. Amounts follow :data:`RESOURCES`; ``weight`` is the over-quota weight in
    thousandths (0: no over-quota share of its own); of siblings, a higher ``bucket`` has its
    over-quota demand met before a lower one gets any."""

    key: int
    parent: int = ROOT
    quota: Optional = UNSET
    limit: Optional = UNSET
    lending_limit: Optional = UNSET
    weight: int = 1000
    bucket: int = 0

    def __post_init__(self) -> None:
        if self.key <= ROOT:
            raise ValueError(f"key: {self.key} is not above {ROOT}")
        if not 0 <= self.weight <= MOST_WEIGHT:
            raise ValueError(f"over_quota_weight: {self.weight} is outside 0 to {MOST_WEIGHT}")
        for field in ("quota", "limit", "lending_limit"):
            for resource, value in zip(RESOURCES, getattr(self, field), strict=True):
                if value is not None and not 0 <= value <= LARGEST:
                    raise ValueError(f"{field}.{resource}: {value} is outside 0 to {LARGEST}")


class Tree:
    """Queues by key, in an order that does not depend on the order they came in."""

    def __init__(self, specs: Iterable[QueueSpec], capacity: Amounts) -> None:
        """ValueError for a key given twice, an unknown parent or a circle."""
        self.capacity = capacity
        self.specs: dict[int, QueueSpec] = {}
        for spec in sorted(specs, key=lambda spec: spec.key):
            if spec.key in self.specs:
                raise ValueError(f"queues: key {spec.key} is given twice")
            self.specs[spec.key] = spec
        self.children: dict[int, tuple[int, ...]] = {ROOT: ()}
        for spec in self.specs.values():
            if spec.parent != ROOT and spec.parent not in self.specs:
                raise ValueError(f"parent: queue {spec.key} has unknown parent {spec.parent}")
            self.children[spec.parent] = (*self.children.get(spec.parent, ()), spec.key)
        self.down = self._downwards()
        self.up = tuple(reversed(self.down))
        self.leaves = tuple(key for key in self.specs if key not in self.children)
        self.quota: dict[int, Amounts] = {}
        for key in self.up:
            self.quota[key] = self._quota(key)
        self.path: dict[int, tuple[int, ...]] = {}
        for key in self.down:
            self.path[key] = (key, *self.path.get(self.specs[key].parent, ()))

    def _downwards(self) -> tuple[int, ...]:
        order, level = [], [ROOT]
        while level:
            level = [child for key in level for child in self.children.get(key, ())]
            order += level
        if len(order) != len(self.specs):
            lost = sorted(self.specs.keys() - set(order))
            raise ValueError(f"parent: queues {lost[:5]} are their own ancestors")
        return tuple(order)

    def _quota(self, key: int) -> Amounts:
        given, children = self.specs[key].quota, self.children.get(key, ())
        if children:
            below = [sum(self.quota[child][r] for child in children) for r in range(4)]
        else:
            pairs = zip(given, self.capacity, strict=True)
            top = max((Fraction(q, c) for q, c in pairs if q is not None and c), default=Fraction(0))
            below = [int(capacity * top) for capacity in self.capacity]
        filled = [below[r] if value is None else value for r, value in enumerate(given)]
        return (filled[0], filled[1], filled[2], filled[3])

    def floor(self, key: int) -> Amounts:
        """What a queue keeps of its quota even while it does not use it: quota less lending limit."""
        lending, quota = self.specs[key].lending_limit, self.quota[key]
        kept = [0 if lent is None else max(0, q - lent) for q, lent in zip(quota, lending, strict=True)]
        return (kept[0], kept[1], kept[2], kept[3])

    def shared(self, key: int, other: int) -> int:
        """The lowest queue above both (either of them, if it is above the other); :data:`ROOT`."""
        above = set(self.path[other])
        return next((queue for queue in self.path[key] if queue in above), ROOT)
