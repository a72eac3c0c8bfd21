"""Which rows changed since when, so that a score vector renews only those."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 16_384


class ChangeLog:
    """Positions count every change ever made; only the last ``LONGEST`` are remembered."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.base = 0
        self.dirty: set[int] = set()  # rows whose derived arrays are out of date

    def add(self, row: int) -> None:
        """Note a change of a row."""
        self.rows.append(row)
        self.dirty.add(row)
        if len(self.rows) > LONGEST:
            self.base += LONGEST // 2
            del self.rows[: LONGEST // 2]

    def mark(self) -> int:
        """The position after the last change."""
        return self.base + len(self.rows)

    def since(self, position: int) -> list[int] | None:
        """Rows changed since a position, each once; None if that is forgotten."""
        if position < self.base:
            return None
        return sorted(set(self.rows[position - self.base :]))

    def back_to(self, position: int) -> None:
        """Forget the changes after a position (they were undone)."""
        self.dirty.clear()
        if position < self.base:
            self.rows, self.base = [], position
        else:
            del self.rows[position - self.base :]
