"""The bytes of a heatmap frame. Pure: no Django, no I/O. static/js/heatmap-frame.js is the other side.

All numbers are little-endian. A frame is a header of 32 bytes and a payload:

    offset  type  field
    0       u8    schema, 1
    1       u8    layer, index into LAYERS
    2       u8    kind: 0 full, 1 delta
    3       u8    width: bytes a value (1; tenant layer 2)
    4       u32   sequence; rises by at least 1 from frame to frame of a layer, also across restarts
    8       u32   base: the sequence that a delta is applied to (full: equal to sequence)
    12      u32   layout: version of the device order that the values follow
    16      u32   table: how many tenants the tenant table had (tenant layer only, else 0)
    20      u32   entries: values in the payload
    24      f64   unix time at which the frame was built

    full    entries x value, in layout order
    delta   entries x index (u16 while the layout has at most 65,536 devices, else u32; ascending),
            then entries x value. No entries: nothing changed, still alive

Values of one byte: 0 to 250 on the layer's scale (SCALES); STALE: the node has stopped reporting; NO_DATA: it
never reported. Marks are a layer of their own, so that a faulty card still shows its load: bits of MARK_*.
Values of two bytes (tenant): 0 free, else 1 + the tenant's row in the tenant table; SEVERAL: more than one.
"""

import struct
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LAYERS: Final = ("utilisation", "memory", "allocation", "temperature", "power", "tenant", "marks")
VALUE_LAYERS: Final = LAYERS[:6]  # one of these is chosen on the page; marks come with each
# what 250 stands for, and its unit; power is relative to the power limit of the card's model
SCALES: Final = {
    "utilisation": (100.0, "%"),
    "memory": (100.0, "%"),
    "allocation": (100.0, "%"),
    "temperature": (125.0, "°C"),
    "power": (125.0, "%"),
}
TOP: Final = 250
STALE: Final = 254
NO_DATA: Final = 255
SEVERAL: Final = 65535
MARK_FAULT, MARK_CORDON, MARK_DRAIN, MARK_UNREACHABLE, MARK_MIG = 1, 2, 4, 8, 16

SCHEMA: Final = 1
FULL, DELTA = 0, 1
HEADER: Final = struct.Struct("<4B5Id")

Values = NDArray[np.uint8] | NDArray[np.uint16]
Indexes = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Frame:
    """A decoded frame. `indexes` is None for a full one."""

    layer: str
    sequence: int
    base: int
    layout: int
    table: int
    time: float
    indexes: Indexes | None
    values: Values

    @property
    def is_full(self) -> bool:
        return self.indexes is None


def group(layer: str) -> str:
    """The Channels group that carries a layer."""
    return f"heatmap.{layer}"


def width(layer: str) -> int:
    """Bytes a value."""
    return 2 if layer == "tenant" else 1


def encode_full(layer: str, values: Values, *, sequence: int, layout: int, time: float, table: int = 0) -> bytes:
    head = HEADER.pack(
        SCHEMA, LAYERS.index(layer), FULL, width(layer), sequence, sequence, layout, table, len(values), time
    )
    return head + values.tobytes()


def encode_delta(
    layer: str,
    old: Values,
    new: Values,
    *,
    sequence: int,
    base: int,
    layout: int,
    time: float,
    table: int = 0,
) -> bytes | None:
    """None when a full frame would be at most as large. `old` and `new` have the same length."""
    changed = np.flatnonzero(old != new)
    index = _index_type(len(new))
    if len(changed) * (index.itemsize + width(layer)) >= len(new) * width(layer) and len(changed):
        return None
    head = HEADER.pack(
        SCHEMA, LAYERS.index(layer), DELTA, width(layer), sequence, base, layout, table, len(changed), time
    )
    return head + changed.astype(index).tobytes() + new[changed].tobytes()


def decode(data: bytes, devices: int) -> Frame:
    """`devices` is the size of the layout. Raises ValueError for bytes that are not a frame of this schema."""
    if len(data) < HEADER.size:
        raise ValueError(f"a frame has at least {HEADER.size} bytes, this has {len(data)}")
    schema, layer, kind, size, sequence, base, layout, table, entries, time = HEADER.unpack_from(data)
    if schema != SCHEMA:
        raise ValueError(f"frame schema {schema} is not {SCHEMA}")
    indexes: Indexes | None = None
    at = HEADER.size
    if kind == DELTA:
        index = _index_type(devices)
        indexes = np.frombuffer(data, index, entries, at)
        at += entries * index.itemsize
    values: Values
    if size == 2:
        values = np.frombuffer(data, np.dtype("<u2"), entries, at)
    else:
        values = np.frombuffer(data, np.uint8, entries, at)
    return Frame(LAYERS[layer], sequence, base, layout, table, time, indexes, values)


def peek(data: bytes) -> tuple[str, int, int]:
    """(layer, sequence, base) of a frame, without reading its payload. A full frame's base is its sequence."""
    _, layer, _, _, sequence, base, *_ = HEADER.unpack_from(data)
    return LAYERS[layer], sequence, base


def _index_type(devices: int) -> np.dtype[Any]:
    return np.dtype("<u2") if devices <= 65536 else np.dtype("<u4")
