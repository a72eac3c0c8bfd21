"""A row of the fleet in plain numbers.

Between two decisions few rows change, and for a few cards plain numbers are many times as fast
as arrays: a call of NumPy costs as much as the sums over a whole node. What is scored or counted
row by row reads these; the arrays stay the truth.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlainRow:
    """``cells`` one a column, the padding among them, each the device fields of state.py in their
    order. ``whole`` counts whole free cards; ``free`` and ``usable`` are those of the arrays."""

    cells: list[list[int]]
    cpu: int
    host: int
    is_open: int
    first_kind: int
    free: int
    usable: int
    whole: int
