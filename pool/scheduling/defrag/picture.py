"""The map of cards as a few SVG paths: one for each sort of card, whatever the number of cards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pool.inventory.models import Node
from pool.scheduling.defrag.told import CLOSED, FREE, FULL, PART, STRANDED

CELL, GAP, BETWEEN, WIDTH = 9, 1, 8, 1180
MOST_NODES = 2_048
SORTS = (FREE, PART, STRANDED, FULL, CLOSED)


@dataclass(frozen=True, slots=True)
class Picture:
    """`paths`: by sort. `nodes`: how many are shown."""

    width: int
    height: int
    paths: dict[str, str]
    counts: dict[str, int]
    nodes: int


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A node with cards of which nothing can be used."""

    node: Node
    stranded: int
    devices: int


def draw(nodes: Sequence[Node], cells: Mapping[int, str]) -> Picture:
    """Nodes side by side in their order, each a run of its cards."""
    shown = [node for node in nodes if cells.get(node.pk)][:MOST_NODES]
    widest = max((len(cells[node.pk]) for node in shown), default=1)
    step = widest * (CELL + GAP) + BETWEEN
    across = max(1, WIDTH // step)
    paths: dict[str, list[str]] = {sort: [] for sort in SORTS}
    for place, node in enumerate(shown):
        left, top = place % across * step, place // across * (CELL + 4)
        for column, sort in enumerate(cells[node.pk]):
            paths[sort].append(f"M{left + column * (CELL + GAP)} {top}h{CELL}v{CELL}h-{CELL}z")
    rows = -(-len(shown) // across)
    return Picture(
        width=across * step - BETWEEN,
        height=max(1, rows * (CELL + 4)),
        paths={sort: "".join(parts) for sort, parts in paths.items()},
        counts={sort: sum(text.count(sort) for text in cells.values()) for sort in SORTS},
        nodes=len(shown),
    )


def stranding(nodes: Sequence[Node], cells: Mapping[int, str], most: int = 50) -> list[NodeLine]:
    """Nodes with stranded cards, most of them first."""
    found = [
        NodeLine(node, text.count(STRANDED), len(text))
        for node in nodes
        if STRANDED in (text := cells.get(node.pk, ""))
    ]
    return sorted(found, key=lambda line: (-line.stranded, line.node.name_key))[:most]
