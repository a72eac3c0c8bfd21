"""Time-based shares: who used much in the recent past gets less of what is beyond the quotas.

Past use is the integral of what was held over the look-back window, each moment weighing
2 ** -(age / half-life). A queue's weight among its siblings, as a part of theirs in all (W), is
moved by what its part of their use (U) exceeds it: max(W + strength x (W - U), W / ``LEAST``). It never
falls to nothing, so that whoever is alone in wanting still gets all; the quota is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pool.engine.sharing.tree import Tree

LEAST: Final = 100
FINE: Final = 1_000_000  # parts in which weights among siblings are told


@dataclass(frozen=True, slots=True)
class Memory:
    """Seconds. ``half_life_s`` None: the whole window counts alike. A half-life of 0 would forget
    all and turn fairness off without a word, so it is refused; ``strength`` 0 does so in words."""

    window_s: int = 7 * 86_400
    half_life_s: int | None = None
    strength: int = 1

    def __post_init__(self) -> None:
        if self.window_s <= 0:
            raise ValueError(f"window_s: {self.window_s} is not above 0; to look at no past, set strength to 0")
        if self.half_life_s is not None and self.half_life_s <= 0:
            raise ValueError(f"half_life_s: {self.half_life_s} is not above 0; leave it out for no decay")
        if self.strength < 0:
            raise ValueError(f"strength: {self.strength} is below 0")


@dataclass(frozen=True, slots=True)
class Use:
    """GPU units held from one second to another (held, not busy: an idle card is used too)."""

    start_s: int
    end_s: int
    gpu: int


def past_use(uses: Iterable[Use], now_s: int, memory: Memory) -> int:
    """Unit-seconds in the window before ``now_s``, decayed; whole, rounded down."""
    total: float = 0.0
    for use in sorted(uses, key=lambda use: (use.start_s, use.end_s, use.gpu)):
        young, old = max(0, now_s - use.end_s), min(memory.window_s, now_s - use.start_s)
        if old > young:
            total += use.gpu * _weight_between(young, old, memory.half_life_s)
    return int(total)


def _weight_between(young: int, old: int, half_life: int | None) -> float:
    """The integral of 2 ** -(age / half-life) from one age to another."""
    if half_life is None:
        return float(old - young)
    scale = half_life / LOG_TWO
    return float(scale * (2.0 ** (-young / half_life) - 2.0 ** (-old / half_life)))


LOG_TWO: Final = 0.6931471805599453


def weights_by_use(tree: Tree, use: Mapping[int, int], memory: Memory) -> dict[int, int]:
    """Over-quota weights for :func:`entitlements`, from the past use of leaves (:func:`past_use`).
    Among siblings without any use or weight, the queues' own weights stand."""
    total: dict[int, int] = {}
    for key in tree.up:
        below = tree.children.get(key, ())
        total[key] = sum(total[child] for child in below) if below else max(0, use.get(key, 0))
    found: dict[int, int] = {}
    for keys in tree.children.values():
        weights = sum(tree.specs[key].weight for key in keys)
        used = sum(total[key] for key in keys)
        for key in keys:
            own = tree.specs[key].weight
            if not used or not weights or not memory.strength:
                found[key] = own
                continue
            part = Fraction(own, weights)
            moved = part + memory.strength * (part - Fraction(total[key], used))
            found[key] = int(max(moved, part / LEAST) * FINE) if own else 0
            if own and not found[key]:
                found[key] = 1
    return found
