"""The last reports of all nodes as one table, in layout order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pool.nodes.telemetry import COLUMNS, HEADER

UTILISATION, MEMORY, TEMPERATURE, POWER, FLAGS = range(COLUMNS)
FAULT = 1  # bit of FLAGS


def gather(
    blobs: Sequence[bytes | None], first: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """([devices, COLUMNS], receive time per device; 0: nothing) from the values of pool.nodes.telemetry.

    Reports of equal size are parsed together, so that 1,280 nodes cost one NumPy call and not 1,280. A report
    whose device count is not the layout's is left out until the two agree again.
    """
    total = int(count.sum())
    table = np.zeros((total, COLUMNS), dtype=np.uint16)
    received = np.zeros(total, dtype=np.float64)
    sizes: dict[int, list[int]] = {}
    for row, blob in enumerate(blobs):
        if blob is not None:
            sizes.setdefault(len(blob), []).append(row)
    for size, rows in sizes.items():
        devices, rest = divmod(size - HEADER.size, COLUMNS * 2)
        if rest or devices <= 0:
            continue
        kind = np.dtype([("at", "<f8"), ("devices", "<u4"), ("values", "<u2", (devices, COLUMNS))])
        reports = np.frombuffer(b"".join(blobs[row] or b"" for row in rows), kind)
        agree = (reports["devices"] == devices) & (count[rows] == devices)
        places = first[np.array(rows)[agree]][:, None] + np.arange(devices)
        table[places] = reports["values"][agree]
        received[places] = reports["at"][agree][:, None]
    return table, received
