"""How long work like this lasts, from what was seen.

The product-limit estimate (Kaplan and Meier, 1958): what still runs is known to have lasted at least so long, and
counts as that. Leaving it out would make everything look short, since long work is the last to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ENOUGH: Final = 20  # ends that were seen, at least, to speak of a group


@dataclass(frozen=True, slots=True)
class Survival:
    """``left[i]``: the part that lasts longer than ``times[i]`` seconds. ``seen``: ends that it is made of."""

    times: Floats
    left: Floats
    seen: int

    def beyond(self, seconds: float) -> float:
        """The part that lasts longer than so many seconds."""
        at = int(self.times.searchsorted(seconds, "right"))
        return float(self.left[at - 1]) if at else 1.0

    def lasting(self, elapsed: float, parts: Floats) -> Floats:
        """Durations of work that has lasted ``elapsed`` seconds already, at these parts (0 to 1) of what can become of
        it; inf where nothing that long was ever seen to end."""
        aims = self.beyond(elapsed) * (1.0 - parts)
        # left falls: the first time at which no more than the aim is left
        at = np.searchsorted(-self.left, -aims, "left")
        reached = np.append(self.times, np.inf)[at]
        spans: Floats = np.maximum(reached, elapsed)
        return spans


def survival(spans: Sequence[tuple[float, bool]]) -> Survival:
    """From (seconds, whether it ended then; False: it still ran)."""
    ordered = np.array(sorted((seconds, not ended) for seconds, ended in spans), dtype=np.float64).reshape(-1, 2)
    seconds, ended = ordered[:, 0], ordered[:, 1] == 0
    times, first = np.unique(seconds, return_index=True)
    ends = np.add.reduceat(ended, first) if len(times) else np.zeros(0)
    at_risk = len(seconds) - first
    kept = ends > 0
    left: Floats = np.cumprod(1.0 - ends[kept] / at_risk[kept]).astype(np.float64)
    return Survival(times[kept], left, int(ended.sum()))


class Spans:
    """By group, the narrowest first: work of a queue and size, of the queue, of the tenant, of the pool."""

    def __init__(self, groups: Iterable[tuple[object, Sequence[tuple[float, bool]]]]) -> None:
        self._known = {name: found for name, spans in groups if (found := survival(spans)).seen >= ENOUGH}

    def of(self, groups: Iterable[object], elapsed: float) -> tuple[object, Survival] | None:
        """The first of these groups that tells how work that lasted so long goes on; None: nothing was seen."""
        for name in groups:
            found = self._known.get(name)
            if found is not None and found.seen * found.beyond(elapsed) >= 1:
                return name, found
        return None
