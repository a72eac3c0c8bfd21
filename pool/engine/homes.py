"""The domain of one role inside the domain of its gang."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pool.engine.capacity import replicas_per_node
from pool.engine.domains import domains_of
from pool.engine.levels import FLEET, NODE, levels_of
from pool.engine.rooms import Rooms
from pool.engine.types import RoleRequest

Ints = NDArray[np.int64]


def home_of(rooms: Rooms, role: RoleRequest, level: int, rows: Ints) -> tuple[int, Ints]:
    """Level and rows for a role, inside the ``rows`` of a domain of ``level``.

    The smallest domain, no wider than the preferred level and then the required one, that holds
    all its replicas; else that of the widest of these levels that holds most, if it has the
    role's minimum. A preference that nothing meets gives way; a requirement that nothing meets gives no rows.
    """
    fleet, domains = rooms.fleet, domains_of(rooms.fleet)
    fleet.settle()
    room = replicas_per_node(fleet, rooms.vectors[role.name].task, rows)
    key = rooms.vectors[role.name].scores.key[rows]
    required, preferred = levels_of(role)
    deeper = NODE
    for bound in [wish for wish in (preferred, required) if wish != FLEET]:
        for at in range(deeper, bound - 1, -1):
            number = domains.number(at)[rows]
            total = np.bincount(number, weights=room).astype(np.int64)
            wanted = role.replicas if at > bound or total.max() >= role.replicas else role.min_replicas
            fits = (total >= max(wanted, 1)).nonzero()[0]
            if len(fits):
                best = np.full(len(total), np.iinfo(np.int64).max)
                np.minimum.at(best, number, key)
                spare = total[fits] if wanted == role.replicas else -total[fits]
                home = fits[np.lexsort((best[fits], spare))[0]]
                return at, rows[number == home]
        deeper = bound - 1
    return (level, rows) if required == FLEET else (level, rows[:0])
