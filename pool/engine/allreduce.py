"""How long an all-reduce over a placement takes, and what share of a training step that is.

Alpha-beta model, the better of ring and tree. Ring: 2(P-1)/P x N/B of transfer, and each of the
2(P-1) steps waits for the hops of the ring. Tree: 2N/B of transfer, and twice the depth in hops:
the cards of a node one after another, the nodes in log2. N bytes, P cards, B the narrowest link
of the ring: a link between nodes is as wide as the fewest cards of the gang in one node, since
every card has a port of its own (rails).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import links
from pool.engine import state as s
from pool.engine.domains import Domains, domains_of
from pool.engine.levels import FLEET, ISLAND, NODE
from pool.engine.types import MOST_CARDS, ReplicaPlacement, Step

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]
_LEVELS: Final = (FLEET, 0, 1, 2, 3, NODE, ISLAND, links.CARD)


@dataclass(frozen=True, slots=True)
class Seats:
    """Devices of a gang in ring order: the ``row`` of each, its island (unique where there is
    none) and its ``card`` (row x MOST_CARDS + column)."""

    row: Ints
    island: Ints
    card: Ints


@dataclass(frozen=True, slots=True)
class Communication:
    """``all_reduce_us`` of the step's gradients, ``share_bp`` of the step spent waiting for it,
    and the ``level`` of the widest hop ("island": all inside one NVLink island)."""

    devices: int
    all_reduce_us: int
    share_bp: int
    algorithm: str
    level: int


def communication(fleet: Fleet, replicas: Sequence[ReplicaPlacement], step: Step) -> Communication | None:
    """The estimate for placed replicas in this order; None for fewer than two devices."""
    seats = seats_of(fleet, replicas)
    return estimate(fleet, seats, step) if len(seats.row) > 1 else None


def seats_of(fleet: Fleet, replicas: Sequence[ReplicaPlacement]) -> Seats:
    """The devices of replicas in their order."""
    row, island, card = [], [], []
    for replica in replicas:
        for part in replica.devices:
            node, column = fleet.place_of[part.device_key]
            at = fleet.row_of[node]
            number = fleet.nodes[at].devices[column].nvlink_island
            row.append(at)
            island.append(number if number >= 0 else -1 - column)
            card.append(at * MOST_CARDS + column)
    return Seats(*(np.array(values, dtype=np.int64) for values in (row, island, card)))


def estimate(fleet: Fleet, seats: Seats, step: Step) -> Communication:
    """The estimate for two or more seats."""
    hops = hop_levels(domains_of(fleet), seats)
    rows, cards = np.unique(seats.row), np.unique(seats.card)
    split = len(np.unique((seats.row << 20) + seats.island)) > len(rows)
    rails = np.unique(cards // MOST_CARDS, return_counts=True)[1]
    ring = _Ring(rows, cards, rails, np.bincount(hops - FLEET, minlength=links.CARD - FLEET + 1).tolist(), split)
    return _reckon(fleet, ring, len(hops), step)


def estimate_packed(fleet: Fleet, rows: Ints, cards: Ints, step: Step) -> int:
    """Microseconds for so many ``cards`` (one or more) on each of these nodes, in the order of the walk, each node's on
    one island: quick, to compare domains before any card is chosen."""
    if cards.sum() < 2:
        return 0
    hops = [0] * (links.CARD - FLEET + 1)
    if len(rows) > 1:
        one = hop_levels(domains_of(fleet), Seats(rows, -rows, rows))
        hops = np.bincount(one - FLEET, minlength=len(hops)).tolist()
    hops[ISLAND - FLEET] += int(cards.sum()) - len(rows) + (len(rows) == 1)
    return _reckon(fleet, _Ring(rows, rows * MOST_CARDS, cards, hops, False), int(cards.sum()), step).all_reduce_us


@dataclass(frozen=True, slots=True)
class _Ring:
    """A ring: its nodes, cards (of each kind at least one), cards a node, hops by level from the
    fleet to one card, and whether any node's cards are on several islands."""

    rows: Ints
    cards: Ints
    rails: Ints
    hops: list[int]
    split: bool


def _reckon(fleet: Fleet, ring: _Ring, devices: int, step: Step) -> Communication:
    used = [number for number in _LEVELS if ring.hops[number - FLEET]]
    level, deepest, nodes = used[0], used[-1], len(ring.rows)
    transfer = step.gradient_bytes / (_bandwidth(fleet, ring, level) * 1_000)  # microseconds
    around = sum(links.HOP_US[number] * ring.hops[number - FLEET] for number in used)
    circle = links.BASE_US + 2 * (devices - 1) / devices * (around + transfer)
    up = (-(-devices // nodes) - 1) * links.HOP_US[max(deepest, NODE)] + (nodes - 1).bit_length() * links.HOP_US[level]
    tree = links.BASE_US + 2 * (up + transfer)
    best = min(circle, tree)
    waiting = best * (10_000 - step.overlap_bp) / 10_000
    share = round(10_000 * waiting / (step.compute_us + waiting))
    return Communication(devices, round(best), share, "ring" if circle <= tree else "tree", level)


def hop_levels(domains: Domains, seats: Seats) -> Ints:
    """For each seat, the deepest level that it shares with the next one (the last: the first)."""
    row, after = seats.row, np.roll(seats.row, -1)
    level = np.full(len(row), FLEET, dtype=np.int64)
    for number in range(NODE + 1):
        level[domains.of[number][row] == domains.of[number][after]] = number
    mates = (level == NODE) & (seats.island == np.roll(seats.island, -1))
    level[mates] = ISLAND
    level[mates & (seats.card == np.roll(seats.card, -1))] = links.CARD
    return level


def _bandwidth(fleet: Fleet, ring: _Ring, level: int) -> float:
    """GB/s of the narrowest link of a ring whose widest hop is at ``level``."""
    if level == links.CARD:
        return links.CARD_GBS
    kinds = np.unique(fleet.state.device[s.KIND, ring.cards // MOST_CARDS, ring.cards % MOST_CARDS]).tolist()
    found = [links.links_of(fleet.kinds.all[kind].model) for kind in kinds]
    inside = min(link.pcie if ring.split else link.island for link in found)
    if level >= NODE:
        return inside
    if level == FLEET:
        return min(inside, links.BETWEEN_SITES_GBS)
    port = min(links.fabric_gbs(fabric) for fabric in {fleet.nodes[row].fabric for row in ring.rows.tolist()})
    wide = port * int(ring.rails.min()) * (links.BETWEEN_PODS if level == 0 else 1.0)
    alone = len(ring.rows) == int(ring.rails.sum())  # one card a node: nothing inside a node takes part
    return wide if alone else min(inside, wide)
