"""How many replicas of a request each node could hold, counted without placing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import mig
from pool.engine import state as s
from pool.engine.classes import TaskClass, Want
from pool.engine.eligible import eligible

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]
PLENTY: Final = 1 << 30


def replicas_per_node(fleet: Fleet, task: TaskClass, rows: Ints | None = None) -> Ints:
    """By row (of all, or of these). Exact, but for devices that differ: then at least as many as
    really fit."""
    device, node, request = fleet.state.device, fleet.state.node, task.request
    if rows is not None:
        device, node = device.take(rows, axis=1), node.take(rows, axis=1)
    fits = np.full(node.shape[1], PLENTY, dtype=np.int64)
    if task.parts:
        fits = _unequal(fleet, task, device)
    elif request.devices:
        parts = parts_per_card(fleet, task, task.wants[-1], device)
        fits = parts.sum(axis=1) // request.devices
        if task.isolation == "vgpu" and request.devices > 1:
            fits = _on_distinct_cards(parts, fits, request.devices)
    for field, asked in ((s.CPU, request.cpu_milli), (s.HOST, request.host_memory_mib)):
        if asked:
            fits = np.minimum(fits, np.maximum(node[field], 0) // asked)
    counted: Ints = fits * node[s.NODE_OPEN]
    return counted


def _unequal(fleet: Fleet, task: TaskClass, device: Ints) -> Ints:
    """By row, a bound of the replicas that its cards hold: for each sort of device by itself."""
    sorts: dict[object, list[TaskClass]] = {}
    for part in task.parts:
        sorts.setdefault(part.request, []).append(part)
    bounds = [
        parts_per_card(fleet, same[0], same[0].wants[0], device).sum(axis=1) // len(same) for same in sorts.values()
    ]
    least: Ints = np.minimum.reduce(bounds)
    return least


def _on_distinct_cards(parts: Ints, fits: Ints, devices: int) -> Ints:
    """The most replicas k for which the cards, each used at most once by a replica, give
    ``k x devices`` parts; ``fits`` is an upper bound to start from."""
    while True:
        fewer: Ints = np.minimum(parts, fits[:, None]).sum(axis=1) // devices
        if (fewer == fits).all():
            return fits
        fits = fewer


def parts_per_card(fleet: Fleet, task: TaskClass, want: Want, device: Ints) -> Ints:
    """How many devices of a request each card could give, one after another."""
    can = eligible(device, task, want)
    if task.isolation == "exclusive":
        return can.astype(np.int64)
    if task.isolation == "vgpu":
        parts = device[s.SHARE] // want.share[0]
        memory = np.maximum(want.memory.take(device[s.KIND]), 1)
        counted: Ints = np.minimum(parts, device[s.MEMORY] // memory) * can
        return counted
    count = np.zeros(device.shape[1:], dtype=np.int64)
    for number, kind in enumerate(fleet.kinds.all):
        family, index = kind.family, int(want.profile[number])
        if family is None or index < 0:
            continue
        cells = can & (device[s.KIND] == number)
        left = mig.tables(family.key).count[index][device[s.SLICES][cells]]
        count[cells] = np.minimum(left, device[s.SHARE][cells] // want.share[number])
    return count
