"""Why a card or node cannot give a replica, once more: slow, plain, by the definitions. Imports nothing of ours.

``pool`` is the slow books of tests/engine/reference.py. The filters are asked in the order in which the
product tells of them; whatever stops a card first counts it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

WHOLE = 10_000


def told(pool: Any, request: Any, trust: str) -> dict[str, tuple[int, int]]:
    """By filter, the cards stopped at it and the nodes that have one (CPU-only work: 0 cards)."""
    cards: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    for node in pool.nodes:
        if request.devices == 0:
            nodes[_node(pool, node, request) or "gang"] += 1
            continue
        stopped = _cards(pool, node, request, trust)
        cards.update(stopped)
        nodes.update(set(stopped))
    return {name: (cards[name], count) for name, count in nodes.items()}


def _cards(pool: Any, node: Any, request: Any, trust: str) -> list[str]:
    """What stops each card of a node."""
    cells = pool.cells[node.key]
    alone = [_card(pool, request, cell, trust) for cell in cells]
    able = [cell for cell, stop in zip(cells, alone, strict=True) if stop is None]
    rest = _node(pool, node, request, is_open=True)
    if rest is None and sum(_parts(pool, request, cell, trust) for cell in able) < request.devices:
        rest = "node_devices"
    return [stop or rest or "gang" for stop in alone]


def _node(pool: Any, node: Any, request: Any, is_open: bool = False) -> str | None:
    if not is_open and not node.schedulable:
        return "schedulable"
    if pool.cpu[node.key] < request.cpu_milli:
        return "node_cpu"
    return "node_memory" if pool.host[node.key] < request.host_memory_mib else None


def _card(pool: Any, request: Any, cell: dict[str, Any], trust: str) -> str | None:
    """What stops a card by itself, asked for the least demanding of the request's devices."""
    kind = pool.isolation(request)
    entry = min(range(request.devices), key=lambda e: pool.asked(request, e) or 0)
    if not cell["open"]:
        return "schedulable"
    if not pool.allowed(request, cell):
        return "model"
    if kind == "mig":
        return _slice(pool, request, entry, cell, trust)
    if cell["mig_mode"]:
        return "mig_mode"
    asked = pool.asked(request, entry)
    if kind == "exclusive":
        if (asked or 0) > cell["total"]:
            return "memory"
        return None if cell["use"] is None else "share"
    if cell["use"] not in (None, "vgpu"):
        return "isolation"
    if cell["memory"] < (cell["total"] * request.share_bp // WHOLE if asked is None else asked):
        return "memory"
    if cell["share"] < request.share_bp:
        return "share"
    return "trust" if cell["use"] == "vgpu" and cell["trust"] != trust else None


def _slice(pool: Any, request: Any, entry: int, cell: dict[str, Any], trust: str) -> str | None:
    if not cell["mig_mode"] and cell["cuttable"]:
        return "mig_mode"
    if cell["family"] is None or cell["use"] not in (None, "mig"):
        return "isolation"
    return None if pool.part(request, entry, cell, trust) else "mig_profile"


def _parts(pool: Any, request: Any, cell: dict[str, Any], trust: str) -> int:
    """How many devices of the request the card could give."""
    if pool.isolation(request) != "mig":
        return 1
    entry = min(range(request.devices), key=lambda e: pool.asked(request, e) or 0)
    share, _, row, _ = pool.part(request, entry, cell, trust)
    free = [s for s in row[3] if not cell["slices"] & set(range(s, s + row[2]))]
    return int(min(len(free), row[4], cell["share"] // share))
