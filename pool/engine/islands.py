"""NVLink islands (or pairs): which cards to take so that islands stay whole.

The rule, for whole cards: a replica goes onto one island if it can, and a job smaller than an
island does not break a whole one while another place is as good. It ranks below fragmentation
(the bucket of the score) and above packing: ``bucket | island | tie | node``. A card on no island
is an island of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible
from pool.engine.scoring import ROW_BITS, TIE_BITS

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet
    from pool.engine.vectors import ScoreVector

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KEEPS: Final = 0  # fits on an island without breaking a whole one
BREAKS: Final = 1  # fits on an island, but only by breaking a whole one
STRADDLES: Final = 2  # does not fit on one island


@dataclass(frozen=True, slots=True)
class Islands:
    """``of[row, column]`` the island's number on its node (negative: alone), ``size`` its cards;
    ``any`` whether any island of the fleet has two cards."""

    of: Ints
    size: Ints
    any: bool


def islands_of(fleet: Fleet) -> Islands:
    """The islands of a fleet, kept until a node comes, goes or moves."""
    if fleet.islands is None or fleet.islands[0] != fleet.places:
        fleet.islands = (fleet.places, _number(fleet))
    return fleet.islands[1]


def _number(fleet: Fleet) -> Islands:
    shape = fleet.state.device.shape[1:]
    of = np.broadcast_to(-1 - np.arange(shape[1]), shape).astype(np.int64)
    number = np.array([card.nvlink_island for node in fleet.nodes for card in node.devices], dtype=np.int64)
    cards = np.arange(shape[1]) < np.array([len(node.devices) for node in fleet.nodes], dtype=np.int64)[:, None]
    of[cards] = np.where(number >= 0, number, of[cards])
    size = np.ones(shape, dtype=np.int64)
    shared = np.flatnonzero((of >= 0).any(axis=1))
    size[shared] = _per_island(of[shared], np.ones((len(shared), shape[1]), dtype=bool))
    return Islands(of, size, bool((size > 1).any()))


def _per_island(of: Ints, counted: Bools) -> Ints:
    """By row and column, how many of the ``counted`` cards are on the same island."""
    same = of[:, :, None] == of[:, None, :]
    total: Ints = (same & counted[:, None, :]).sum(axis=2)
    return total


def penalty(fleet: Fleet, task: TaskClass, rows: Ints, devices: int) -> Ints:
    """KEEPS, BREAKS or STRADDLES for so many whole cards on each of these rows."""
    islands = islands_of(fleet)
    free = eligible(fleet.state.device.take(rows, axis=1), task, task.wants[0])
    count = _per_island(islands.of[rows], free)
    size = islands.size[rows]
    holds = free & (count >= devices)
    keeps = holds & ((count < size) | (size == devices))
    return np.where(keeps.any(axis=1), KEEPS, np.where(holds.any(axis=1), BREAKS, STRADDLES))


def best_row(fleet: Fleet, vector: ScoreVector, row: int, key: Ints) -> int:
    """The winner among the rows of the same bucket as ``row``, the best by score alone."""
    task = vector.task
    devices = task.request.devices
    mine = int(penalty(fleet, task, np.array([row]), devices)[0])
    if mine == KEEPS:
        return row
    rows = np.flatnonzero((key >> (ROW_BITS + TIE_BITS)) == (key[row] >> (ROW_BITS + TIE_BITS)))
    node = fleet.state.node
    whole = islands_of(fleet).size.max(axis=1)[rows] > 1
    if devices == 1:  # a wholly free node of islands has no leftover to give
        rows = rows[~(whole & (node[s.FREE, rows] == node[s.CARDS, rows]))]
    if not len(rows):
        return row
    worst = penalty(fleet, task, rows, devices)
    best = int(np.lexsort((key[rows], worst))[0])
    return int(rows[best]) if worst[best] < mine else row


def by_island(free: Sequence[tuple[int, int, int]], count: int) -> list[int]:
    """``count`` of the free cards (island, its size, column): from one island if any holds all,
    rather without breaking a whole one, rather a small rest, rather one that is broken already;
    else from as few islands as possible. Columns of one island stand together."""
    islands: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for island, size, column in free:
        islands.setdefault(island, []).append(column)
        sizes[island] = size
    fitting = [
        (len(columns) == sizes[island] > count, len(columns), len(columns) == sizes[island], columns)
        for island, columns in islands.items()
        if len(columns) >= count
    ]
    if fitting:
        return min(fitting)[3][:count]
    largest_first = sorted(islands.values(), key=lambda columns: (-len(columns), columns))
    return [column for columns in largest_first for column in columns][:count]
