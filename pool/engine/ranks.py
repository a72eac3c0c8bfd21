"""The order of ranks: along the topology, so that neighbours in rank are neighbours in place.

Ranks follow the walk of the tree of domains (domains.py), and inside a node its NVLink islands.
Of all orders this has the fewest hops of a ring between domains, at every level: a domain is
entered once and left once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pool.engine.bulk import Slot
from pool.engine.domains import domains_of
from pool.engine.islands import islands_of

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet


ALONE: Final = 1 << 20  # cards on no island stand behind the islands


def ranked(fleet: Fleet, slots: Sequence[Slot]) -> list[Slot]:
    """The slots of one role in the order of their ranks: by place, island, card and MIG slice."""
    if len(slots) < 2:
        return list(slots)
    row = np.array([slot.row for slot in slots])
    place = domains_of(fleet).place[row]
    if not slots[0].columns:
        return [slots[at] for at in np.argsort(place, kind="stable").tolist()]
    column = np.array([min(slot.columns) for slot in slots])
    start = np.array([slot.starts[0] for slot in slots])
    island = islands_of(fleet).of[row, column]
    island = np.where(island < 0, ALONE + column, island)
    return [slots[at] for at in np.lexsort((start, column, island, place)).tolist()]
