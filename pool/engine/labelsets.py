"""The label sets of cards, numbered, so that a selector becomes a small table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pool.engine.selectors import Labels, Selector, matches
from pool.engine.types import DeviceSpec, NodeSpec

Ints = NDArray[np.int64]
MOST_TABLES = 512


class LabelSets:
    """Number 0 is the card without labels (and padding)."""

    def __init__(self) -> None:
        self.all: list[Labels] = [()]
        self._number: dict[Labels, int] = {(): 0}
        self._tables: dict[Selector, Ints] = {}

    def add(self, node: NodeSpec) -> bool:
        """Number the label sets of a node's cards; True if one of them was new."""
        before = len(self.all)
        for card in node.devices:
            labels = labels_of(node, card)
            if labels not in self._number:
                self._number[labels] = len(self.all)
                self.all.append(labels)
        if len(self.all) == before:
            return False
        self._tables.clear()
        return True

    def number(self, node: NodeSpec, card: DeviceSpec) -> int:
        """The number of a card's label set."""
        return self._number[labels_of(node, card)]

    def table(self, selector: Selector) -> Ints:
        """By number, 1 where the selector takes such cards."""
        if selector not in self._tables:
            if len(self._tables) >= MOST_TABLES:
                self._tables.clear()
            takes = [matches(selector, dict(labels)) for labels in self.all]
            self._tables[selector] = np.array(takes, dtype=np.int64)
        return self._tables[selector]


def labels_of(node: NodeSpec, card: DeviceSpec) -> Labels:
    """A card's labels: its node's, and its own, which go before."""
    if not card.labels:
        return node.labels
    return tuple(sorted((dict(node.labels) | dict(card.labels)).items())) if node.labels else card.labels
