"""How many replicas each node takes, so that a gang lies in as few domains as possible.

From the top down: of a domain's parts, the largest by room until the rest fits into one; that
one is the smallest it fits into. So the fewest pods, then in each the fewest switches, and so on
to nodes. Equal parts: the one with the best-scored node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pool.engine.domains import Domains
from pool.engine.levels import NODE

Ints = NDArray[np.int64]


def spread(domains: Domains, level: int, rows: Ints, room: Ints, order: Ints, count: int) -> Ints:
    """Replicas for each of ``rows``, which lie in one domain of ``level``. ``room``: how many each
    holds, ``order``: its place by score. ``count`` must not exceed the room."""
    taken = np.zeros(len(rows), dtype=np.int64)
    _into(domains, level, rows, room, order, np.arange(len(rows)), count, taken)
    return taken


def _into(domains: Domains, level: int, rows: Ints, room: Ints, order: Ints, at: Ints, count: int, taken: Ints) -> None:
    """Give ``count`` to the rows at these positions, all of one domain of ``level``."""
    part = level + 1
    if part >= NODE:
        chosen, share = fewest(room[at], order[at], count)
        taken[at[chosen]] += share
        return
    number, inside = np.unique(domains.of[part, rows[at]], return_inverse=True)
    if len(number) == 1:
        _into(domains, part, rows, room, order, at, count, taken)
        return
    sizes = np.bincount(inside, weights=room[at]).astype(np.int64)
    best = np.full(len(number), np.iinfo(np.int64).max)
    np.minimum.at(best, inside, order[at])
    for group, share in zip(*fewest(sizes, best, count), strict=True):
        _into(domains, part, rows, room, order, at[inside == group], int(share), taken)


def fewest(sizes: Ints, best: Ints, count: int) -> tuple[Ints, Ints]:
    """The parts that take ``count``, and how many each: as few parts as possible."""
    if count <= 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ranking = np.lexsort((best, -sizes))
    total = np.cumsum(sizes[ranking])
    whole = int(np.searchsorted(total, count))  # parts taken to the full before the last one
    rest = count - (int(total[whole - 1]) if whole else 0)
    left = ranking[whole:]
    fits = left[sizes[left] >= rest]
    last = fits[np.lexsort((best[fits], sizes[fits]))[0]]
    chosen = np.append(ranking[:whole], last)
    return chosen, np.append(sizes[ranking[:whole]], rest)


def parts_needed(number: Ints, how_many: int, room: Ints, count: int) -> Ints:
    """For each domain, how many of its nodes a gang of ``count`` needs at least (largest first);
    for a domain without the room, all of them."""
    order = np.lexsort((-room, number))
    sizes, domain = room[order], number[order]
    total = np.cumsum(sizes)
    starts = np.searchsorted(domain, np.arange(how_many))
    before = np.where(starts > 0, total[np.maximum(starts - 1, 0)], 0)
    held = total - sizes - before[domain]  # by the larger nodes of the same domain
    needed: Ints = np.bincount(domain[(held < count) & (sizes > 0)], minlength=how_many)
    return needed
