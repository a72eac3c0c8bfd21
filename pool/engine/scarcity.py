"""What a typical request counts for where it can run: the more, the fewer cards serve it.

The rule: a request that ``n`` of the pool's cards serve, of ``N`` that serve any request of the
mix, weighs ``N / n`` times its frequency on each of those. A card is then dear by the demand
that bears on it, were every request spread evenly over the cards that serve it. Work that any
card serves therefore keeps off the cards that others have no alternative to, be it for their
model or for their memory. In a pool of one kind nothing changes.

Why: by frequency alone (fragmentation gradient descent) a model that many accept looks dear and
one that a few depend on looks cheap. On the trace list where a third of the tasks name a model
that fills the rare models with work for which half of the common one stands free
(docs/decisions/0011-packing-policy.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine.kinds import Kinds, least_share
from pool.engine.types import ReplicaRequest

Ints = NDArray[np.int64]
MOST: Final = 100  # times its frequency; keeps sums of weights within the scores' bits


def scarce_weights(classes: Sequence[tuple[ReplicaRequest, int]], kinds: Kinds, cards: Ints) -> list[int]:
    """The weight of each class, given how many cards of each kind the pool has (open or not)."""
    serves = np.array(
        [[least_share(request, kind, kinds.all) is not None for kind in kinds.all] for request, _ in classes],
        dtype=bool,
    )
    every = int(cards[serves.any(axis=0)].sum())
    reach = (serves * cards).sum(axis=1).tolist()
    return [weight * min(every, MOST * n) // n if n else weight for (_, weight), n in zip(classes, reach, strict=True)]
