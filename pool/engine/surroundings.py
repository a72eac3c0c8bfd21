"""What a gang's place is like, for its reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pool.engine.allreduce import Seats, estimate
from pool.engine.bulk import Slot
from pool.engine.domains import domains_of
from pool.engine.islands import islands_of
from pool.engine.levels import FLEET, ISLAND, NODE, levels_of, name_of
from pool.engine.rooms import Rooms
from pool.engine.search_order import Place
from pool.engine.types import MOST_CARDS, Neighbourhood


def surroundings(rooms: Rooms, place: Place, slots: Sequence[Slot]) -> Neighbourhood:
    """The neighbourhood of placed replicas, in the order of ranks (types.py)."""
    level, domain = _common(rooms, slots)
    _, preferred = levels_of(rooms.job)
    seats = _seats(rooms, slots)
    found = estimate(rooms.fleet, seats, rooms.job.step) if len(seats.row) > 1 else None
    wanted = sum(role.replicas for role in rooms.job.roles)
    met = level >= preferred
    return Neighbourhood(
        level=name_of(level),
        domain=domain,
        preferred=rooms.job.preferred_topology_level,
        met=met,
        best_inside=len(slots) if met else _best_inside(rooms, preferred),
        wanted=wanted,
        rivals=place.rivals,
        all_reduce_us=found.all_reduce_us if found else 0,
        communication_bp=found.share_bp if found else 0,
        algorithm=found.algorithm if found else "",
        widest=_hop(found.level) if found else "",
    )


def _seats(rooms: Rooms, slots: Sequence[Slot]) -> Seats:
    row = np.array([slot.row for slot in slots for _ in slot.columns], dtype=np.int64)
    column = np.array([column for slot in slots for column in slot.columns], dtype=np.int64)
    return Seats(row, islands_of(rooms.fleet).of[row, column], row * MOST_CARDS + column)


def _common(rooms: Rooms, slots: Sequence[Slot]) -> tuple[int, str]:
    """The deepest level that all replicas share, and the domain's path."""
    domains, islands = domains_of(rooms.fleet), islands_of(rooms.fleet)
    rows = np.unique([slot.row for slot in slots])
    if len(rows) == 1 and islands.any:
        of = islands.of[rows[0], [column for slot in slots for column in slot.columns]]
        if len(of) and of[0] >= 0 and (of == of[0]).all():
            return ISLAND, domains.name(NODE, int(domains.of[NODE, rows[0]]))
    for level in range(NODE, FLEET, -1):
        number = domains.of[level, rows]
        if (number == number[0]).all():
            return level, domains.name(level, int(number[0]))
    return FLEET, ""


def _best_inside(rooms: Rooms, level: int) -> int:
    """The most replicas that a domain of a level could hold, by a count of each role by itself."""
    held = rooms.at(min(level, NODE))
    return int(np.add.reduce([np.minimum(held[role.name], role.replicas) for role in rooms.job.roles]).max(initial=0))


def _hop(level: int) -> str:
    return "card" if level > ISLAND else name_of(level)
