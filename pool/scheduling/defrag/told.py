"""Measures and plans as they are stored and told."""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from pool.engine import state as s
from pool.engine.defrag import ClassLine, Measure, Work
from pool.engine.fleet import Fleet
from pool.engine.types import Hold

# of a card, one letter each in a node's text
CLOSED, FULL, FREE, PART, STRANDED = "xhfps"


def work_of(work: Work) -> dict[str, Any]:
    """What a replica of this class asks for."""
    asked = work.request
    return {
        "devices": asked.devices,
        "share_bp": asked.compute_bp,
        "mig_profile": asked.mig_profile,
        "isolation": asked.isolation,
        "models": sorted(asked.models),
        "cpu_milli": asked.cpu_milli,
        "waiting": work.waiting,
        "weight": work.weight,
    }


def figures_of(found: Measure) -> dict[str, Any]:
    """Amounts in basis points of a card; fragmentation and spread in basis points of the capacity."""
    return {
        "capacity_bp": found.capacity,
        "free_bp": found.free,
        "stranded_bp": found.stranded,
        "fragmentation_bp": found.fragmentation_bp,
        "spread_bp": found.spread_bp,
        "stranded_devices": found.devices,
        "classes": [_line(line) for line in found.lines],
    }


def _line(line: ClassLine) -> dict[str, Any]:
    return {**work_of(line.work), "free_bp": line.free, "usable_bp": line.usable, "fits": line.fits}


def cells_of(fleet: Fleet, found: Measure) -> bytes:
    """A letter a card by node, packed."""
    device = fleet.state.device
    free = np.maximum(device[s.SHARE], 0) * device[s.OPEN]
    code = np.full(free.shape, CLOSED)
    opened = device[s.OPEN] == 1
    code[opened] = FULL
    code[opened & (free > 0)] = PART
    code[opened & (device[s.HELD] == 0)] = FREE
    code[(found.cells > 0) & (found.cells == free)] = STRANDED
    texts = {node.key: "".join(code[row, : len(node.devices)]) for row, node in enumerate(fleet.nodes)}
    return zlib.compress(orjson.dumps(texts, option=orjson.OPT_NON_STR_KEYS))


def read_cells(stored: bytes | memoryview | None) -> dict[int, str]:
    """By node what `cells_of` stored; nothing where nothing is."""
    if stored is None:
        return {}
    return {int(node): text for node, text in orjson.loads(zlib.decompress(stored)).items()}


def holds_json(holds: tuple[Hold, ...]) -> dict[str, Any]:
    """What a replica holds: node, and by device what of it."""
    parts = [
        [hold.device_key, hold.share_bp, hold.memory_mib, hold.isolation, hold.mig_profile, hold.mig_start]
        for hold in holds
    ]
    return {"node": holds[0].node_key, "parts": sorted(parts, key=str)}


def is_held(source: Mapping[str, Any], holds: tuple[Hold, ...]) -> bool:
    """Whether these are the holds that were written down."""
    return bool(holds) and holds_json(holds) == dict(source)
