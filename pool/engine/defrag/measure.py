"""Free capacity, and what of it which work can use: by class, by card, down to MIG slots.

For each class its replicas are laid out node by node, as many as fit: CPU and host memory bound
them, whole cards and shares count by card, MIG slices by the placement table. What of a card a
class would hold then is what it can use of it. A card's free part that no class can use is
stranded. Capacity is compute, in bp of a card; a share that has no memory left beside it, or no
CPU on its node, counts as free and cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pool.engine import mig
from pool.engine import state as s
from pool.engine.capacity import parts_per_card
from pool.engine.classes import TaskClass, compile_class
from pool.engine.defrag.types import ClassLine, Measure, Work
from pool.engine.fleet import Fleet
from pool.engine.types import WHOLE

Ints = NDArray[np.int64]


def measure(fleet: Fleet, works: Sequence[Work], rows: Ints | None = None) -> Measure:
    """Of the whole fleet, or of these rows of it. Changes nothing."""
    fleet.settle()
    device, node = fleet.state.device, fleet.state.node
    if rows is not None:
        device, node = device.take(rows, axis=1), node.take(rows, axis=1)
    free = np.maximum(device[s.SHARE], 0) * device[s.OPEN]
    most = np.zeros_like(free)
    lines = []
    for work in works:
        used, line = _class(fleet, work, device, node, free)
        np.maximum(most, used, out=most)
        lines.append(line)
    left = np.maximum(free - most, 0)
    capacity = int(device[s.OPEN].sum()) * WHOLE
    return Measure(
        capacity=capacity,
        free=int(free.sum()),
        stranded=int(left.sum()),
        devices=int(((left == free) & (free > 0)).sum()),
        lines=tuple(lines),
        spread_bp=_spread(lines, capacity),
        cells=left,
    )


def _spread(lines: Sequence[ClassLine], capacity: int) -> int:
    weights = [line.work.weight for line in lines]
    if not capacity or not sum(weights):
        return 0
    lost = sum(weight * line.unusable for weight, line in zip(weights, lines, strict=True))
    return lost * WHOLE // (sum(weights) * capacity)


def usable(fleet: Fleet, work: Work) -> tuple[Ints, Ints]:
    """What of each card the class would hold, in bp, and how many of its replicas each node."""
    fleet.settle()
    device, node = fleet.state.device, fleet.state.node
    used, _, replicas = _layout(fleet, work, device, node)
    return used, replicas


def _class(fleet: Fleet, work: Work, device: Ints, node: Ints, free: Ints) -> tuple[Ints, ClassLine]:
    used, best, replicas = _layout(fleet, work, device, node)
    used = np.minimum(used, free)
    served = np.minimum(free, best)
    return used, ClassLine(work, int(served.sum()), int(used.sum()), int(replicas.sum()))


def _layout(fleet: Fleet, work: Work, device: Ints, node: Ints) -> tuple[Ints, Ints, Ints]:
    """By card what the class would hold, and what of it were the card empty; by row how many replicas."""
    trust = fleet.trust_number(work.tenant, work.trust_group) if work.tenant else 0
    task = compile_class(fleet, work.request, trust)
    if not work.tenant:
        device = _trusting(device)
    best = np.zeros_like(device[s.SHARE])
    used = np.zeros_like(best)
    replicas, parts = _fits(fleet, task, device, node)
    for part, count, each in parts:
        best = np.maximum(best, _when_empty(fleet, part).take(device[s.KIND]) * _takes(part, device))
        wanted = np.minimum(count, np.maximum(replicas[:, None] * each - (np.cumsum(count, axis=1) - count), 0))
        used += wanted * part.wants[0].share.take(device[s.KIND])
    return used, best, replicas


def _trusting(device: Ints) -> Ints:
    """As if everybody trusted everybody: who will ask is not known."""
    view = device.copy()
    view[s.TRUST] = 0
    return view


def _when_empty(fleet: Fleet, part: TaskClass) -> Ints:
    """By kind, the bp that an empty card gives to work of this sort alone: of a 3g slice 6/7 of a card."""
    want = part.wants[0]
    found = []
    for number, kind in enumerate(fleet.kinds.all):
        count = WHOLE // max(int(want.share[number]), 1)
        if part.isolation == "exclusive":
            count = 1
        elif part.isolation == "mig":
            index = int(want.profile[number])
            count = int(mig.tables(kind.family.key).count[index][0]) if kind.family and index >= 0 else 0
        elif want.memory[number]:
            count = min(count, kind.memory_mib // int(want.memory[number]))
        found.append(count * int(want.share[number]) * int(want.serves[number]))
    return np.array(found, dtype=np.int64)


def _takes(part: TaskClass, device: Ints) -> Ints:
    opened: Ints = device[s.OPEN]
    return opened if part.selected is None else opened * part.selected.take(device[s.LABEL])


def _fits(fleet: Fleet, task: TaskClass, device: Ints, node: Ints) -> tuple[Ints, list[tuple[TaskClass, Ints, int]]]:
    """Replicas by row, and for each sort of device its class, how many each card gives, and how many
    a replica takes."""
    sorts: dict[object, tuple[TaskClass, int]] = {}
    for part in task.parts:
        known = sorts.get(part.request, (part, 0))
        sorts[part.request] = known[0], known[1] + 1
    if not task.parts and task.request.devices:
        sorts = {task.request: (task, task.request.devices)}
    request = task.request
    replicas = np.full(node.shape[1], 1 << 30, dtype=np.int64)
    found = []
    for part, each in sorts.values():
        count = parts_per_card(fleet, part, part.wants[-1], device)
        if part.isolation == "vgpu" and each > 1:
            count = np.minimum(count, 1)  # the devices of a replica are different cards
        replicas = np.minimum(replicas, count.sum(axis=1) // each)
        found.append((part, count, each))
    for field, asked in ((s.CPU, request.cpu_milli), (s.HOST, request.host_memory_mib)):
        if asked:
            replicas = np.minimum(replicas, np.maximum(node[field], 0) // asked)
    return replicas * node[s.NODE_OPEN] * bool(found), found
