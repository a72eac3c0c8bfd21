"""Topology by the definitions: sets of nodes, every domain tried, every order of a ring walked.

Slow and plain; imports nothing of the engine. Nodes are read by attribute (key, site, pod, switch, rack).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, permutations
from typing import Any

LEVELS = ["site", "pod", "switch", "rack", "node"]


def domain(node: Any, level: str) -> tuple[Any, ...]:
    """The domain of a node: the path down to the level; without a name there, down to the next name below."""
    names = [node.site, node.pod, node.switch, node.rack, node.key]
    end = LEVELS.index(level)
    path = names[: end + 1]
    while not path[-1]:
        end += 1
        path.append(names[end])
    return tuple([f"{LEVELS[n]}={name}" for n, name in enumerate(path) if name or n < LEVELS.index(level)])


def domains(nodes: Iterable[Any], level: str) -> dict[tuple[Any, ...], list[Any]]:
    """The domains of a level with their nodes; "fleet": all in one."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for node in nodes:
        found.setdefault(domain(node, level) if level != "fleet" else (), []).append(node)
    return found


def smallest_level(nodes: list[Any], room: Callable[[Any], int], count: int, widest: str) -> str | None:
    """The deepest level, no wider than ``widest``, at which one domain holds ``count``; None: no domain does."""
    for level in ["node", "rack", "switch", "pod", "site", "fleet"]:
        if any(sum(map(room, members)) >= count for members in domains(nodes, level).values()):
            return level
        if level == widest:
            return None
    return None


def fewest_parts(parts: list[int], count: int) -> int:
    """The smallest number of parts whose rooms add up to ``count``, by trying every choice."""
    for size in range(len(parts) + 1):
        if any(sum(choice) >= count for choice in combinations(parts, size)):
            return size
    raise AssertionError("the parts do not hold it")


def shared_depth(one: Any, other: Any) -> int:
    """How deep two nodes are together: 5 on one node, 4 in one rack, .. 1 at one site, 0 nowhere."""
    return max([n + 1 for n, level in enumerate(LEVELS) if domain(one, level) == domain(other, level)], default=0)


def ring_cost(order: list[Any]) -> int:
    """A ring's cost: each hop costs more the wider it is."""
    after = [*order[1:], *order[:1]]
    return sum(10 ** (5 - shared_depth(one, other)) for one, other in zip(order, after, strict=True))


def contiguous(order: list[Any]) -> bool:
    """Whether every domain's members stand together in an order."""
    for level in LEVELS:
        seen: list[tuple[Any, ...]] = []
        for node in order:
            at = domain(node, level)
            if at in seen and seen[-1] != at:
                return False
            seen.append(at)
    return True


def cheapest_contiguous_ring(nodes: list[Any]) -> int:
    """The least cost of a ring among all contiguous orders."""
    return min(ring_cost(list(order)) for order in permutations(nodes) if contiguous(list(order)))


def meets(labels: dict[str, str], key: str, operator: str, values: tuple[str, ...]) -> bool:
    """One condition of a selector."""
    if operator in ("Exists", "DoesNotExist"):
        return (key in labels) == (operator == "Exists")
    if operator in ("In", "NotIn"):
        return (key in labels and labels[key] in values) == (operator == "In")
    if key not in labels or not labels[key].lstrip("-").isdigit():
        return False
    return int(labels[key]) > int(values[0]) if operator == "Gt" else int(labels[key]) < int(values[0])


def may_stand(
    nodes: list[Any], live: list[tuple[Any, dict[str, str], list[Any]]], me: tuple[dict[str, str], list[Any]]
) -> set[int]:
    """Keys of the nodes where a job may put a replica.

    ``live``: node, labels and terms of each running replica of the tenant; ``me``: labels and terms. A term has
    ``selector`` (of key, operator, values), ``level``, ``anti`` and ``required``. Work without labels is nobody's
    neighbour.
    """
    labels, terms = me
    found = set()
    for node in nodes:
        good = True
        for term in terms:
            if not term.required:
                continue
            like = [at for at, theirs, _ in live if theirs and all_met(theirs, term)]
            near = any(domain(at, term.level) == domain(node, term.level) for at in like)
            first = not term.anti and not like and bool(labels) and all_met(labels, term)
            good &= not near if term.anti else near or first
        for at, _, theirs in live:
            for term in theirs:
                if term.anti and term.required and labels and all_met(labels, term):
                    good &= domain(at, term.level) != domain(node, term.level)
        if good:
            found.add(node.key)
    return found


def all_met(labels: dict[str, str], term: Any) -> bool:
    """Whether labels meet every condition of a term."""
    return all(meets(labels, r.key, r.operator, r.values) for r in term.selector)


def matching(asks: list[set[int]]) -> bool:
    """Whether each ask can have a card of its own, by trying every way."""
    if not asks:
        return True
    return any(matching([rest - {card} for rest in asks[1:]]) for card in asks[0])
