"""Water-filling among siblings, on arrays.

Two rules, each for one level of the tree. ``by_quota`` divides a budget up to what is claimed, in
proportion to the quotas. ``by_weight`` divides the rest among those who want more: everyone's part
of what it wants (one part for all resources) grows so that its dominant share (the largest, over
the resources, of taken over the pool's capacity) rises at the speed of its weight. Who has all it
wants stops; a resource that is used up stops for all, and the others go on. This is dominant
resource fairness (Ghodsi et al., NSDI 2011) by progressive filling, with weights and with demands
that end.

The arithmetic is float64 on whole numbers below 2**50, so results are exact to about a ten
millionth of a unit; they are then rounded down to whole units, a value within ``SLACK`` below a
whole number counting as that number, and never add up to more than the budget.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SLACK: Final = 0.01
NEVER: Final = float("inf")


def by_quota(claim: Ints, quota: Ints, budget: Ints) -> Ints:
    """``claim[queue, resource]`` (never above ``quota``) within ``budget[resource]``."""
    given = claim.copy()
    for r in range(claim.shape[1]):
        if int(claim[:, r].sum()) <= int(budget[r]):
            continue
        rate = quota[:, r].astype(np.float64)
        cap = claim[:, r].astype(np.float64)
        full = np.divide(cap, rate, out=np.zeros_like(cap), where=rate > 0)
        time = _crossing(np.zeros_like(cap), cap, rate, full, float(budget[r]))
        given[:, r] = _whole(np.minimum(cap, rate * time), int(budget[r]))
    return given


def by_weight(want: Ints, weight: Ints, bucket: Ints, budget: Ints, capacity: Ints) -> Ints:
    """``want[queue, resource]`` within ``budget[resource]``: higher buckets first, within one by
    weight and dominant share of ``capacity``. Weight 0 gets nothing."""
    given, left = np.zeros_like(want), budget.copy()
    for level in sorted({int(b) for b in bucket}, reverse=True):
        rows = np.flatnonzero((bucket == level) & (weight > 0) & want.any(axis=1))
        if len(rows):
            given[rows] = _progressive(want[rows], weight[rows], left, capacity)
            left = left - given[rows].sum(axis=0)
    return given


def _progressive(want: Ints, weight: Ints, budget: Ints, capacity: Ints) -> Ints:
    amount = want.astype(np.float64)
    # the part of its want that each queue has, by resource: those that are not used up grow together
    part = np.zeros(len(want))
    given = np.zeros_like(amount)
    growing = [r for r in range(want.shape[1]) if want[:, r].any()]
    while growing:
        share = np.max([amount[:, r] / max(int(capacity[r]), 1) for r in growing], axis=0)
        speed = np.divide(weight, share, out=np.zeros_like(part), where=share > 0)
        full = np.divide(1 - part, speed, out=np.zeros_like(part), where=speed > 0)
        times = {
            r: _crossing(amount[:, r] * part, amount[:, r], amount[:, r] * speed, full, float(budget[r]))
            for r in growing
        }
        first = min(growing, key=lambda r: times[r])
        if times[first] == NEVER:
            for r in growing:
                given[:, r] = amount[:, r]
            break
        part = np.where(full <= times[first], 1.0, part + speed * times[first])
        given[:, first] = amount[:, first] * part
        growing.remove(first)
    columns = [_whole(given[:, r], int(budget[r])) for r in range(want.shape[1])]
    return np.minimum(np.stack(columns, axis=1), want)


def _crossing(start: Floats, cap: Floats, rate: Floats, full: Floats, budget: float) -> float:
    """The time at which ``sum min(cap, start + rate x time)`` reaches the budget; ``full`` is when
    each is at its cap. :data:`NEVER` if all of the caps fit."""
    if cap.sum() <= budget:
        return NEVER
    order = np.argsort(full, kind="stable")
    start, cap, rate, full = start[order], cap[order], rate[order], full[order]
    capped = np.concatenate(([0.0], np.cumsum(cap)[:-1]))  # of those that are full before
    begun = np.cumsum(start[::-1])[::-1]
    speed = np.cumsum(rate[::-1])[::-1]
    reached = capped + begun + speed * full >= budget  # by the time that this one is full
    at = int(np.argmax(reached)) if reached.any() else len(full) - 1
    if speed[at] <= 0:
        return float(full[at])
    return max(0.0, float((budget - capped[at] - begun[at]) / speed[at]))


def _whole(exact: Floats, budget: int) -> Ints:
    """Rounded down to whole units; where rounding lifted too much in all, the most lifted fall."""
    slack = SLACK + 1e-12 * budget
    down: Ints = np.floor(exact + slack).astype(np.int64)
    over = int(down.sum()) - budget
    if over > 0:
        lifted = np.argsort(exact - down, kind="stable")[:over]
        down[lifted] = np.maximum(down[lifted] - 1, 0)
    return down
