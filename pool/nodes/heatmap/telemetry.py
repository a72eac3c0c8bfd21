"""Reads `weir:tele:<node id>`: the last report of each node, as the gateway stored it.

A value is `<dI` (receive time of the server, unix seconds; device count), then 5 x u16 a device: utilisation and
memory used (1/100 %), temperature (1/10 °C), power (W), flags (bit 0: fault).
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HEAD = struct.Struct("<dI")
UTILISATION, MEMORY, TEMPERATURE, POWER, FLAGS = range(5)
WIDTH = 5
FAULT = 1


@dataclass(frozen=True, slots=True)
class Report:
    """One node's last report: rows of WIDTH columns, in the node's device order."""

    received_at: float
    values: NDArray[np.uint16]


def key(node_id: int) -> str:
    return f"weir:tele:{node_id}"


def parse(data: bytes | None) -> Report | None:
    """None for nothing, or for bytes that are not a whole report."""
    if data is None or len(data) < HEAD.size:
        return None
    received_at, devices = HEAD.unpack_from(data)
    if len(data) != HEAD.size + devices * WIDTH * 2:
        return None
    values = np.frombuffer(data, "<u2", devices * WIDTH, HEAD.size).reshape(devices, WIDTH)
    return Report(received_at, values)


def gather(
    blobs: Sequence[bytes | None], first: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """All reports as one table: ([devices, WIDTH], receive time per device; 0: nothing).

    Reports of equal size are parsed together, so that 1,280 nodes cost one NumPy call and not 1,280. A report
    whose device count is not the layout's is left out until the two agree again.
    """
    total = int(count.sum())
    table = np.zeros((total, WIDTH), dtype=np.uint16)
    received = np.zeros(total, dtype=np.float64)
    sizes: dict[int, list[int]] = {}
    for row, blob in enumerate(blobs):
        if blob is not None:
            sizes.setdefault(len(blob), []).append(row)
    for size, rows in sizes.items():
        devices, rest = divmod(size - HEAD.size, WIDTH * 2)
        if rest or devices <= 0:
            continue
        kind = np.dtype([("at", "<f8"), ("devices", "<u4"), ("values", "<u2", (devices, WIDTH))])
        reports = np.frombuffer(b"".join(blobs[row] or b"" for row in rows), kind)
        agree = (reports["devices"] == devices) & (count[rows] == devices)
        places = first[np.array(rows)[agree]][:, None] + np.arange(devices)
        table[places] = reports["values"][agree]
        received[places] = reports["at"][agree][:, None]
    return table, received
