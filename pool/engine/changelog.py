"""Which rows changed since when, so that what is kept of a fleet renews only those."""

from __future__ import annotations

from typing import Final

import numpy as np

REMEMBERED: Final = 1_024  # latest changes kept one by one
WALKED: Final = 96  # changes from which it is quicker to ask every row


class ChangeLog:
    """Positions count every change ever made. ``last[row]``: position of the row's last change."""

    def __init__(self, rows: int = 0) -> None:
        self.last = np.full(rows, -1, dtype=np.int64)
        self.latest: list[int] = []  # rows of the latest changes, in their order
        self.position = 0
        self.dirty: set[int] = set()  # rows whose derived arrays are out of date

    def add(self, row: int) -> None:
        """Note a change of a row."""
        self.last[row] = self.position
        self.position += 1
        self.dirty.add(row)
        self.latest.append(row)
        if len(self.latest) > REMEMBERED:
            del self.latest[: REMEMBERED // 2]

    def since(self, position: int) -> list[int]:
        """Rows changed since a position, each once, in no order."""
        changes = self.position - position
        if changes <= WALKED:
            return list(set(self.latest[len(self.latest) - changes :]))
        rows: list[int] = (self.last >= position).nonzero()[0].tolist()
        return rows

    def copy(self) -> ChangeLog:
        """One to go on in, for changes that will be forgotten."""
        fresh = ChangeLog()
        fresh.last, fresh.latest = self.last.copy(), self.latest.copy()
        fresh.position, fresh.dirty = self.position, self.dirty.copy()
        return fresh
