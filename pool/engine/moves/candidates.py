"""Which nodes are worth a closer look: those where the least must go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible
from pool.engine.fleet import Fleet
from pool.engine.types import WHOLE

Ints = NDArray[np.int64]
CLOSED = 1 << 40  # more than any node can displace


def nearest(fleet: Fleet, task: TaskClass, most: int) -> list[int]:
    """Rows that could hold one replica if work left them, by the share that has to leave (at
    most), then by missing CPU, then by key; the first ``most``."""
    fleet.settle()
    node, request = fleet.state.node, task.request
    displaced = _displaced(fleet, task)
    lack = np.maximum(request.cpu_milli - node[s.CPU], 0)
    able = (displaced < CLOSED) & (node[s.NODE_OPEN] == 1) & (node[s.CPU_TOTAL] >= request.cpu_milli)
    rows = able.nonzero()[0]
    order = np.lexsort((rows, lack[rows], displaced[rows]))[:most]
    return [int(row) for row in rows[order]]


def _displaced(fleet: Fleet, task: TaskClass) -> Ints:
    device, devices = fleet.state.device, task.request.devices
    if not devices:
        return np.zeros(device.shape[1], dtype=np.int64)
    part = task.parts[0] if task.parts else task
    want = part.wants[0]
    serves = ((device[s.OPEN] & want.serves.take(device[s.KIND])) == 1) & (device[s.USE] != s.MIXED)
    if part.selected is not None:
        serves &= part.selected.take(device[s.LABEL]) == 1
    need = np.minimum(want.share.take(device[s.KIND]), WHOLE) - device[s.SHARE]
    taken = WHOLE - device[s.SHARE] if part.isolation == "exclusive" else np.maximum(need, 1)
    cost = np.where(eligible(device, part, want), 0, np.where(serves, taken, CLOSED))
    if part.isolation == "mig":  # one card may give several
        best: Ints = cost.min(axis=1)
        return best
    if devices > cost.shape[1]:
        return np.full(device.shape[1], CLOSED, dtype=np.int64)
    least: Ints = np.partition(cost, devices - 1, axis=1)[:, :devices].sum(axis=1)
    return least
