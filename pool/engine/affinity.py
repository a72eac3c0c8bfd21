"""Wishes about the neighbourhood: near or away from jobs that carry certain labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pool.engine.levels import depth
from pool.engine.selectors import Selector

AT: Final = ("site", "pod", "switch", "rack", "node")


@dataclass(frozen=True, slots=True)
class Affinity:
    """Near (or with ``anti``: away from) live jobs of the same tenant whose labels meet ``selector``.
    A job without any labels is nobody's neighbour.

    ``level``: what counts as the neighbourhood. ``required`` False: a preference, worth
    ``weight`` (1 to 100) where it is met. A required repulsion also keeps later jobs away. A job
    whose own labels meet its required attraction may start where nobody is yet; its other
    replicas then follow, and its own replicas repel each other likewise.
    """

    selector: Selector
    level: str = "node"
    anti: bool = False
    required: bool = True
    weight: int = 1

    def __post_init__(self) -> None:
        if not self.selector:
            raise ValueError("affinity: needs a condition on the labels of jobs")
        if self.level not in AT:
            raise ValueError(f"affinity: level {self.level!r} is not one of {', '.join(AT)}")
        if isinstance(self.weight, bool) or not isinstance(self.weight, int) or not 1 <= self.weight <= 100:
            raise ValueError(f"affinity: weight {self.weight!r} is not a whole number from 1 to 100")

    def __str__(self) -> str:
        words = "away from" if self.anti else "near"
        return f"{words} {', '.join(map(str, self.selector))} at {self.level}"

    @property
    def depth(self) -> int:
        """The number of its level."""
        return depth(self.level)
