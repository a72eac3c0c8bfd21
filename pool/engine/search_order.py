"""Which domains a gang is tried in, one after another, the smallest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.allreduce import estimate_packed
from pool.engine.capacity import parts_per_card
from pool.engine.domains import domains_of
from pool.engine.islands import STRADDLES, islands_of, penalty
from pool.engine.levels import FLEET, ISLAND, NODE, levels_of, name_of
from pool.engine.members import need
from pool.engine.packing import parts_needed, spread
from pool.engine.rooms import Rooms
from pool.engine.types import JobRequest, LevelCount, RoleRequest

Ints = NDArray[np.int64]
COMPARED: Final = 8  # domains of a level whose all-reduce is estimated, those of fewest nodes first
TRIED: Final = 64  # domains of a level in which a gang of several roles is tried


@dataclass(frozen=True, slots=True)
class Place:
    """A domain to try. ``rows`` of it, ``columns`` if it is an island. ``whole``: all replicas are to go in, else the
    minimum and what fits beyond. ``rivals``: other domains of the level that would do."""

    level: int
    rows: Ints
    columns: tuple[int, ...] | None
    whole: bool
    rivals: int


def places(rooms: Rooms, least: int) -> Iterator[Place]:
    """Domains for the gang, best first; ``least``: the replicas that must start together.

    All replicas in the smallest domain, no wider than preferred; then, of an elastic gang, as many
    as possible in one domain of the preferred level; then the same outward to the required one.
    """
    required, preferred = levels_of(rooms.job)
    deepest = max(NODE, required, preferred)
    elastic = least < sum(role.replicas for role in rooms.job.roles)
    level = deepest
    for bound in ([preferred] if preferred != FLEET else []) + [required]:
        while level >= bound:
            yield from _of_level(rooms, level, whole=True, least=least)
            level -= 1
        if elastic:
            yield from _of_level(rooms, bound, whole=False, least=least)


def level_counts(rooms: Rooms) -> tuple[LevelCount, ...]:
    """What each level of the topology offers the minimum of a gang, from the widest to the required one."""
    required, _ = levels_of(rooms.job)
    least, domains, counts = need(rooms.job), domains_of(rooms.fleet), list[LevelCount]()
    for level in range(required + 1):
        if level < ISLAND:
            holding, total = _holding(rooms.job, rooms.at(level), False, least)
            number = np.arange(len(total))
        else:
            offers = _island_offers(rooms, np.arange(len(rooms.fleet.nodes)), False, least)
            holding, total = offers.holding, offers.total
            number = domains.of[NODE, offers.row]
        if len(total):
            best = int(total.argmax())
            name = domains.name(level, int(number[best]))
            counts.append(LevelCount(name_of(level), len(total), int(holding.sum()), name, int(total[best]), least))
    return tuple(counts)


def _of_level(rooms: Rooms, level: int, whole: bool, least: int) -> Iterator[Place]:
    if level == ISLAND:
        yield from _islands(rooms, whole, least)
        return
    held = rooms.at(level)
    holding, total = _holding(rooms.job, held, whole, least)
    if holding.any():
        holding &= rooms.jointly(level, whole)
    found = holding.nonzero()[0]
    if not len(found):
        return
    number = domains_of(rooms.fleet).number(level)
    for domain in _ranked(rooms, level, found, total, whole):
        yield Place(level, (number == domain).nonzero()[0], None, whole, len(found) - 1)


def _holding(job: JobRequest, held: Mapping[str, Ints], whole: bool, least: int) -> tuple[NDArray[np.bool_], Ints]:
    """Which domains have the room, as far as roles by themselves can tell, and the replicas that each could take."""
    capped = {role.name: np.minimum(held[role.name], role.replicas) for role in job.roles}
    total: Ints = np.add.reduce(list(capped.values()))
    enough = total >= (sum(role.replicas for role in job.roles) if whole else least)
    for role in job.roles:
        enough &= capped[role.name] >= role.min_replicas
    return enough, total


def _ranked(rooms: Rooms, level: int, found: Ints, total: Ints, whole: bool) -> list[int]:
    """Most replicas first (of an elastic gang), then the shortest all-reduce, the least room to
    spare, the best score."""
    if len(found) == 1:
        return [int(found[0])]
    role = rooms.job.roles[0]
    domains, room = domains_of(rooms.fleet), rooms.by_row[role.name]
    number, key = domains.number(level), rooms.vectors[role.name].scores.key
    spare = domains.total(level, room)[found]
    score = np.full(domains.how_many(level), np.iinfo(np.int64).max)
    np.minimum.at(score, number, key)
    most = -total[found] if not whole else np.zeros(len(found), dtype=np.int64)
    if level == NODE:  # one node each: only islands tell them apart
        row_of = np.argsort(number)
        straddles = _straddles(rooms, role, row_of[found])
        return [int(domain) for domain in found[np.lexsort((score[found], spare, straddles, most))[:TRIED]]]
    nodes = parts_needed(number, domains.how_many(level), room, min(role.replicas, int(spare.max())))[found]
    order = np.lexsort((score[found], spare, nodes, most))
    first = order[:COMPARED]
    times = np.array([_all_reduce(rooms, role, level, int(domain)) for domain in found[first]], dtype=np.int64)
    first = first[np.lexsort((score[found[first]], spare[first], times, most[first]))]
    return [int(domain) for domain in found[np.append(first, order[COMPARED:])[:TRIED]]]


def _straddles(rooms: Rooms, role: RoleRequest, rows: Ints) -> Ints:
    """1 where the role's cards would not all be on one NVLink island, though some island could."""
    task, count = rooms.vectors[role.name].task, role.replicas * role.request.devices
    islands = islands_of(rooms.fleet)
    if task.isolation != "exclusive" or len(task.wants) > 1 or not islands.any:
        return np.zeros(len(rows), dtype=np.int64)
    found: Ints = (penalty(rooms.fleet, task, rows, count) == STRADDLES).astype(np.int64)
    return found


def _all_reduce(rooms: Rooms, role: RoleRequest, level: int, domain: int) -> int:
    """Microseconds of an all-reduce of this role, packed into a domain."""
    fleet, domains = rooms.fleet, domains_of(rooms.fleet)
    rows = (domains.number(level) == domain).nonzero()[0]
    room = rooms.by_row[role.name][rows]
    order = rooms.vectors[role.name].scores.key[rows]
    counts = spread(domains, level, rows, room, order, min(role.replicas, int(room.sum())))
    cards = counts * role.request.devices
    walk = np.argsort(domains.place[rows], kind="stable")
    walk = walk[cards[walk] > 0]
    return estimate_packed(fleet, rows[walk], cards[walk], rooms.job.step)


def _islands(rooms: Rooms, whole: bool, least: int) -> Iterator[Place]:
    """NVLink islands, the fewest free cards first, then the best-scored node."""
    of = islands_of(rooms.fleet).of
    enough, _ = _holding(rooms.job, dict(rooms.by_row), whole, least)
    rows = enough.nonzero()[0]
    if not len(rows):
        return
    first = rooms.job.roles[0].name
    offers = _island_offers(rooms, rows, whole, least)
    held = offers.holding.nonzero()[0]
    key = rooms.vectors[first].scores.key[offers.row[held]]
    most = np.zeros(len(held), dtype=np.int64) if whole else -offers.total[held]
    for index in held[np.lexsort((offers.column[held], key, offers.spare[held], most))[:TRIED]].tolist():
        row = int(offers.row[index])
        columns = tuple((of[row] == of[row, offers.column[index]]).nonzero()[0].tolist())
        yield Place(ISLAND, np.array([row]), columns, whole, len(held) - 1)


@dataclass(frozen=True, slots=True)
class _Offers:
    """Islands, each by its ``row`` and first ``column``: whether it is ``holding`` enough, replicas
    in ``total``, and the room for the first role (``spare``)."""

    row: Ints
    column: Ints
    holding: NDArray[np.bool_]
    total: Ints
    spare: Ints


def _island_offers(rooms: Rooms, rows: Ints, whole: bool, least: int) -> _Offers:
    """What each island of these rows could hold."""
    of, device = islands_of(rooms.fleet).of[rows], rooms.fleet.state.device.take(rows, axis=1)
    same = of[:, :, None] == of[:, None, :]
    held = {role.name: _on_islands(rooms, role, device, same, rows) for role in rooms.job.roles}
    holding, total = _holding(rooms.job, held, whole, least)
    at, column = ((np.argmax(same, axis=2) == np.arange(of.shape[1])) & (device[s.KIND] > 0)).nonzero()
    spare = held[rooms.job.roles[0].name]
    return _Offers(rows[at], column, holding[at, column], total[at, column], spare[at, column])


def _on_islands(rooms: Rooms, role: RoleRequest, device: Ints, same: NDArray[np.bool_], rows: Ints) -> Ints:
    """By row and column, how many replicas the card's island holds."""
    task = rooms.vectors[role.name].task
    if task.parts or not role.request.devices:
        return np.broadcast_to(rooms.by_row[role.name][rows][:, None], same.shape[:2])
    parts = parts_per_card(rooms.fleet, task, task.wants[-1], device)
    held: Ints = (same * parts[:, None, :]).sum(axis=2) // role.request.devices
    return np.minimum(held, rooms.by_row[role.name][rows][:, None])
