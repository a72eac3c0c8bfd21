"""Topology as integers: which site, pod, switch and rack each row of the fleet stands in.

Numbers are given along a walk of the tree (by names, then node key), so that rows of one domain
are neighbours in the walk at every level. A level without a name says nothing of who stands
together: the domain there is that of the next deeper level, at last the node itself. So two
nodes of unknown rack are never taken for rack mates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine.levels import FLEET, NODE
from pool.engine.types import NodeSpec

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Domains:
    """``of[level, row]`` number of the domain at each level from site to node, ``place[row]`` the
    row's place in the walk, ``first[level][number]`` the first row of a domain, ``nodes`` by row."""

    of: Ints
    place: Ints
    first: tuple[tuple[int, ...], ...]
    nodes: tuple[NodeSpec, ...]

    def number(self, level: int) -> Ints:
        """By row, the number of its domain; 0 everywhere for the whole fleet."""
        return np.zeros(self.of.shape[1], dtype=np.int64) if level == FLEET else self.of[min(level, NODE)]

    def how_many(self, level: int) -> int:
        """Domains at a level."""
        return 1 if level == FLEET else len(self.first[min(level, NODE)])

    def total(self, level: int, by_row: Ints) -> Ints:
        """The sum of a figure by row over each domain of a level."""
        if level == FLEET:
            return np.array([by_row.sum()], dtype=np.int64)
        total = np.bincount(self.of[min(level, NODE)], weights=by_row, minlength=self.how_many(level))
        return total.astype(np.int64)

    def name(self, level: int, number: int) -> str:
        """A path such as ``s1/p0/sw2/r07``; "" for the whole fleet."""
        at = min(level, NODE)
        return "" if level == FLEET else _name(self.nodes[self.first[at][number]], at)


def domains_of(fleet: Fleet) -> Domains:
    """The domains of a fleet, kept until a node comes, goes or moves."""
    if fleet.domains is None or fleet.domains[0] != fleet.places:
        fleet.domains = (fleet.places, number_domains(fleet.nodes))
    return fleet.domains[1]


def number_domains(nodes: Sequence[NodeSpec]) -> Domains:
    """Number the domains of these nodes, which are in the order of the rows."""
    paths = [_path(node) for node in nodes]
    walk = sorted(range(len(nodes)), key=lambda row: (paths[row], nodes[row].key))
    first: list[list[int]] = [[] for _ in range(NODE + 1)]
    numbers: list[list[int]] = [[] for _ in range(NODE + 1)]  # along the walk
    last: tuple[str, ...] | None = None
    for row in walk:
        path = paths[row]
        for level in range(_shared(last, path), NODE + 1):
            first[level].append(row)
        for level in range(NODE + 1):
            numbers[level].append(len(first[level]) - 1)
        last = path
    of, place = np.zeros((NODE + 1, len(nodes)), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    of[:, walk] = numbers
    place[walk] = np.arange(len(walk))
    return Domains(of, place, tuple(map(tuple, first)), tuple(nodes))


def place_of(node: NodeSpec) -> tuple[object, ...]:
    """All that the topology knows of a node: while it stays, domains and islands stay."""
    islands = tuple(card.nvlink_island for card in node.devices)
    return node.name, node.site, node.pod, node.switch, node.rack, node.fabric, islands


def _path(node: NodeSpec) -> tuple[str, ...]:
    deeper = f"\0{node.key:020d}"
    path = [deeper]
    for name in (node.rack, node.switch, node.pod, node.site):
        deeper = name or "\0" + deeper.lstrip("\0")
        path.append(deeper)
    return tuple(reversed(path))


def _shared(one: tuple[str, ...] | None, other: tuple[str, ...]) -> int:
    """How many levels from the top two paths have in common (a node shares none but its own)."""
    if one is None:
        return 0
    for level in range(NODE):
        if one[level] != other[level]:
            return level
    return NODE


def _name(node: NodeSpec, level: int) -> str:
    names = (node.site, node.pod, node.switch, node.rack, node.name)
    while not names[level] and level < NODE:
        level += 1
    return "/".join(name for name in names[: level + 1] if name)
