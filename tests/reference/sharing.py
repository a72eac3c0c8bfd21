"""Fair shares once more: slow, plain, in fractions, by the definitions. Imports nothing of ours.

A queue is a dictionary: key, parent (0: none), quota, limit, lending_limit (four values, None if
not given), weight, bucket. Amounts are lists of four numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

R = range(4)
Queue = dict[str, Any]


def shares(queues: list[Queue], capacity: list[int], demand: dict[int, list[int]]) -> dict[int, dict[str, list[Any]]]:
    """Deserved and entitled amounts of every leaf, as fractions."""
    pool = _Pool(queues, capacity, demand)
    found: dict[int, dict[str, list[Any]]] = {}
    pool.divide(0, [Fraction(c) for c in capacity], found)
    return found


class _Pool:
    def __init__(self, queues: list[Queue], capacity: list[int], demand: dict[int, list[int]]) -> None:
        self.queues = {q["key"]: q for q in queues}
        self.capacity, self.demand = capacity, demand

    def children(self, key: int) -> list[int]:
        return sorted(k for k, q in self.queues.items() if q["parent"] == key)

    def quota(self, key: int) -> list[int]:
        given, below = self.queues[key]["quota"], self.children(key)
        filled = []
        for r in R:
            if given[r] is not None:
                filled.append(given[r])
            elif below:
                filled.append(sum(self.quota(child)[r] for child in below))
            else:
                parts = [Fraction(given[s], self.capacity[s]) for s in R if given[s] is not None and self.capacity[s]]
                filled.append(int(max(parts, default=Fraction(0)) * self.capacity[r]))
        return filled

    def capped(self, key: int, amounts: list[int]) -> list[int]:
        limit = self.queues[key]["limit"]
        return [amounts[r] if limit[r] is None else min(amounts[r], limit[r]) for r in R]

    def want(self, key: int) -> list[int]:
        below = self.children(key)
        if not below:
            return self.capped(key, self.demand.get(key, [0] * 4))
        return self.capped(key, [sum(self.hold(child)[r] for child in below) for r in R])

    def hold(self, key: int) -> list[int]:
        lending, quota = self.queues[key]["lending_limit"], self.quota(key)
        kept = self.capped(key, [0 if lending[r] is None else max(0, quota[r] - lending[r]) for r in R])
        return [max(w, k) for w, k in zip(self.want(key), kept, strict=True)]

    def divide(self, parent: int, budget: list[Fraction], found: dict[int, dict[str, list[Any]]]) -> None:
        keys = self.children(parent)
        base = {k: [Fraction(0)] * 4 for k in keys}
        for r in R:
            claims = {k: min(self.hold(k)[r], self.quota(k)[r]) for k in keys}
            rates = {k: self.quota(k)[r] for k in keys}
            for k, amount in scale(claims, rates, budget[r]).items():
                base[k][r] = amount
        left = [budget[r] - sum(base[k][r] for k in keys) for r in R]
        over = {k: [Fraction(0)] * 4 for k in keys}
        for bucket in sorted({self.queues[k]["bucket"] for k in keys}, reverse=True):
            inside = [k for k in keys if self.queues[k]["bucket"] == bucket and self.queues[k]["weight"] > 0]
            more = {k: [max(Fraction(0), self.want(k)[r] - base[k][r]) for r in R] for k in inside}
            given = fill(more, {k: self.queues[k]["weight"] for k in inside}, left, self.capacity)
            for k in inside:
                over[k] = given[k]
                left = [left[r] - given[k][r] for r in R]
        for k in keys:
            mine = [base[k][r] + over[k][r] for r in R]
            if self.children(k):
                self.divide(k, mine, found)
            else:
                entitled = [min(Fraction(self.want(k)[r]), mine[r]) for r in R]
                found[k] = {"entitlement": entitled, "deserved": [min(entitled[r], base[k][r]) for r in R]}


def scale(claims: dict[int, int], rates: dict[int, int], budget: Fraction) -> dict[int, Fraction]:
    """Claims, or in a shortage as much of each as its rate x one common number, up to the claim."""
    if sum(claims.values()) <= budget:
        return {k: Fraction(c) for k, c in claims.items()}
    full: set[int] = {k for k, c in claims.items() if c == 0}
    while True:
        left = budget - sum(claims[k] for k in full)
        level = left / sum(rates[k] for k in claims if k not in full)
        more = {k for k in claims if k not in full and claims[k] <= rates[k] * level}
        if not more:
            return {k: Fraction(c) if k in full else rates[k] * level for k, c in claims.items()}
        full |= more


def fill(
    want: dict[int, list[Fraction]], weight: dict[int, int], budget: list[Fraction], capacity: list[int]
) -> dict[int, list[Fraction]]:
    """Progressive filling, event by event: dominant shares rise at the speed of the weights."""
    given = {k: [Fraction(0)] * 4 for k in want}
    part = {k: Fraction(0) for k in want}
    growing = {r for r in R if any(want[k][r] for k in want)}
    while True:
        speed = {}
        for k in want:
            share = max((want[k][r] / max(capacity[r], 1) for r in growing), default=Fraction(0))
            if share and part[k] < 1:
                speed[k] = weight[k] / share
        if not speed:
            return given
        waits = [((1 - part[k]) / s, -1) for k, s in speed.items()]
        for r in growing:
            rate = sum(want[k][r] * s for k, s in speed.items())
            if rate:
                free = budget[r] - sum(given[k][r] for k in want)
                waits.append((free / rate, r))
        step, ended = min(waits)
        for k, s in speed.items():
            part[k] += s * step
            for r in growing:
                given[k][r] = want[k][r] * part[k]
        if ended >= 0:
            growing.discard(ended)


def turns(
    queues: list[Queue],
    capacity: list[int],
    deserved: dict[int, list[int]],
    used: dict[int, list[int]],
    weights: dict[int, int],
    waiting: set[int],
) -> list[int]:
    """Leaves with work that waits in the order in which they take their next job. ``deserved`` and
    ``used`` of every queue, those with children too."""
    by_key = {q["key"]: q for q in queues}
    asks = {key for leaf in waiting for key in _above(by_key, leaf)}

    def place(key: int) -> tuple[Any, ...]:
        mine = list(zip(used[key], deserved[key], strict=True))
        if any(u < d for u, d in mine) and not any(u > d for u, d in mine):
            return (0, 0, max(Fraction(u, d) for u, d in mine if u < d), key)  # below its quota: the least served
        over = max([Fraction(u - d, c or 1) for (u, d), c in zip(mine, capacity, strict=True) if u > d] + [Fraction(0)])
        bucket = -by_key[key]["bucket"]
        return (1, bucket, over / weights[key], key) if weights[key] else (2, bucket, over, key)

    def below(parent: int) -> list[int]:
        children = sorted((k for k in asks if by_key[k]["parent"] == parent), key=place)
        return [leaf for child in children for leaf in ([child] if child in waiting else below(child))]

    return below(0)


def _above(by_key: dict[int, Queue], key: int) -> list[int]:
    """A queue and all it lies in."""
    return [key, *_above(by_key, by_key[key]["parent"])] if key else []
