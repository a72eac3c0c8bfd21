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
    """``of[level, row]`` number of the domain at each level from site to node, ``count`` domains
    by level, ``place[row]`` the row's place in the walk, ``names[level][number]`` its path."""

    of: Ints
    count: tuple[int, ...]
    place: Ints
    names: tuple[tuple[str, ...], ...]

    def number(self, level: int) -> Ints:
        """By row, the number of its domain; 0 everywhere for the whole fleet."""
        return np.zeros(self.of.shape[1], dtype=np.int64) if level == FLEET else self.of[min(level, NODE)]

    def how_many(self, level: int) -> int:
        """Domains at a level."""
        return 1 if level == FLEET else self.count[min(level, NODE)]

    def total(self, level: int, by_row: Ints) -> Ints:
        """The sum of a figure by row over each domain of a level."""
        if level == FLEET:
            return np.array([by_row.sum()], dtype=np.int64)
        total = np.bincount(self.of[min(level, NODE)], weights=by_row, minlength=self.how_many(level))
        return total.astype(np.int64)

    def name(self, level: int, number: int) -> str:
        """A path such as ``s1/p0/sw2/r07``; "" for the whole fleet."""
        return "" if level == FLEET else self.names[min(level, NODE)][number]


def domains_of(fleet: Fleet) -> Domains:
    """The domains of a fleet, kept until a node comes, goes or moves."""
    if fleet.domains is None or fleet.domains[0] != fleet.places:
        fleet.domains = (fleet.places, number_domains(fleet.nodes))
    return fleet.domains[1]


def number_domains(nodes: Sequence[NodeSpec]) -> Domains:
    """Number the domains of these nodes, which are in the order of the rows."""
    paths = [_path(node) for node in nodes]
    walk = sorted(range(len(nodes)), key=lambda row: (paths[row], nodes[row].key))
    of = np.zeros((NODE + 1, len(nodes)), dtype=np.int64)
    place = np.zeros(len(nodes), dtype=np.int64)
    names: list[list[str]] = [[] for _ in range(NODE + 1)]
    last: tuple[str, ...] | None = None
    for step, row in enumerate(walk):
        path = paths[row]
        same = _shared(last, path)
        for level in range(same, NODE + 1):
            names[level].append(_name(nodes[row], level))
        of[:, row] = [len(names[level]) - 1 for level in range(NODE + 1)]
        place[row], last = step, path
    return Domains(of, tuple(len(known) for known in names), place, tuple(tuple(known) for known in names))


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
