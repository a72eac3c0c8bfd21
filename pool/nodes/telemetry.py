"""The latest state of every node in Valkey, packed; written by the gateway, read by frames and pages.

Key `weir:tele:<node id>`: 12 bytes header (`<dI`: server's receive time as Unix seconds, count of devices), then
for each device five little-endian uint16: utilisation (1/100 %), memory in use (1/100 %), temperature (1/10 °C),
power (W), flags (bit 0: fault).
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

HEADER: Final = struct.Struct("<dI")
PREFIX: Final = "weir:tele:"
COLUMNS: Final = 5
Rows = np.ndarray[Any, np.dtype[np.uint16]]


@dataclass(frozen=True, slots=True)
class NodeTelemetry:
    """`rows`: uint16 [devices, 5] in the order of device indexes."""

    at: float
    rows: Rows


def key(node_id: int) -> str:
    return f"{PREFIX}{node_id}"


def convert(devices: np.ndarray[Any, Any], memory_mib: np.ndarray[Any, Any]) -> Rows:
    """From rows of protocol.TELEMETRY and the devices' memory to the five columns above."""
    rows = np.empty((len(devices), COLUMNS), "<u2")
    rows[:, 0] = devices["util"]
    used = devices["memory"] * 10_000.0 / np.maximum(memory_mib, 1)
    rows[:, 1] = np.minimum(used, 10_000)
    rows[:, 2] = devices["temp"]
    rows[:, 3] = devices["power"]
    rows[:, 4] = devices["flags"]
    return rows


def pack(at: float, rows: Rows) -> bytes:
    return HEADER.pack(at, len(rows)) + rows.tobytes()


def unpack(data: bytes | None) -> NodeTelemetry | None:
    """None for nothing, or for what is not of this shape."""
    if data is None or len(data) < HEADER.size:
        return None
    at, count = HEADER.unpack_from(data)
    if len(data) != HEADER.size + count * COLUMNS * 2:
        return None
    return NodeTelemetry(at, np.frombuffer(data, "<u2", count * COLUMNS, HEADER.size).reshape(count, COLUMNS))


def times(values: Iterable[tuple[int, bytes | str | None]]) -> dict[int, datetime]:
    """Node id -> when its last report came, of (node id, value) pairs."""
    found = {}
    for node_id, data in values:
        if isinstance(data, bytes) and len(data) >= HEADER.size:
            found[node_id] = datetime.fromtimestamp(HEADER.unpack_from(data)[0], UTC)
    return found


def keys(node_ids: Sequence[int]) -> list[str]:
    return [key(node_id) for node_id in node_ids]
