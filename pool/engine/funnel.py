"""Why cards were passed over: at which filter each stopped first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.capacity import parts_per_card
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible, may_cut, may_share, whole_free
from pool.engine.kinds import allows
from pool.engine.mixed import choose_unequal
from pool.engine.picks import look
from pool.engine.types import FilterCount, ReplicaRequest

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Bools = NDArray[np.bool_]

FILTERS: Final = (
    "schedulable",  # the card or its node is drained, cordoned or faulty
    "model",  # not a model that the request allows
    "vendor",  # not of a vendor that it allows, or not among the models and vendors that it ranks
    "selector",  # its labels do not meet the request's conditions
    "mig_mode",  # in MIG mode, so whole cards and soft shares do not run on it; or not, for a slice
    "isolation",  # cannot be cut, or is in another use already
    "mig_profile",  # its model has no such profile, or no start is free for it
    "memory",  # too little memory, in all or free
    "share",  # too little compute share free
    "trust",  # shared by tenants of another trust group
    "node_cpu",
    "node_memory",
    "affinity",  # near work that the job keeps away from, or that keeps it away; or not near its like
    "node_devices",  # the card would do, but its node has too few such cards
    "topology",  # would hold a replica, and enough of them do, but not in one domain of the required level
    "gang",  # would hold a replica, but not enough of them do
)


def funnel(
    fleet: Fleet, task: TaskClass, allowed: Bools | None = None, scattered: bool = False
) -> tuple[FilterCount, ...]:
    """Counts by filter, in order, of all cards (of all nodes for CPU-only work); zeros are
    left out, and the counts add up to the fleet. ``allowed``: by row, where neighbours let the
    job be. ``scattered``: only the required topology level is missing. Of unequal devices, those
    of the sort that fewest cards can serve are counted."""
    fleet.settle()
    last = "topology" if scattered else "gang"
    rows = np.ones(len(fleet.nodes), dtype=bool) if allowed is None else allowed
    if task.request.devices == 0:
        return _nodes(fleet, task, rows, last)
    device = fleet.state.device
    left: Bools = device[s.KIND] > 0
    counts = []
    for name, passes in _card_filters(fleet, task, rows):
        stopped = left & ~passes
        left = left & passes
        counts.append(FilterCount(name, int(stopped.sum()), int(stopped.any(axis=1).sum())))
    counts.append(FilterCount(last, int(left.sum()), int(left.any(axis=1).sum())))
    return tuple(count for count in counts if count.devices)


def _scarcest(fleet: Fleet, task: TaskClass) -> TaskClass:
    """Of unequal devices, the part that fewest cards can serve; else the request itself."""
    if not task.parts:
        return task
    return min(task.parts, key=lambda part: int(eligible(fleet.state.device, part, part.wants[0]).sum()))


def _card_filters(fleet: Fleet, whole_task: TaskClass, rows: Bools) -> list[tuple[str, Bools]]:
    device, node, task = fleet.state.device, fleet.state.node, _scarcest(fleet, whole_task)
    request, asked = task.request, whole_task.request
    want = task.wants[-1]  # the least demanding device
    kind = device[s.KIND]
    whole, soft, cut = (task.isolation == name for name in ("exclusive", "vgpu", "mig"))
    memory = device[s.MEMORY] if soft else fleet.kinds.memory.take(kind)
    everything = np.ones(kind.shape, dtype=bool)
    can = eligible(device, task, want)
    parts: NDArray[np.int64] = parts_per_card(fleet, task, want, device) if cut else can.astype(np.int64)
    enough: Bools = parts.sum(axis=1) >= request.devices
    if whole_task.parts:
        enough = choose_unequal(fleet, whole_task, look(fleet, None, 0)).enough
    models = _kinds(fleet, replace(request, vendors=frozenset(), preference=()))
    selected = everything if task.selected is None else task.selected.take(device[s.LABEL]) == 1
    use = device[s.USE]
    usable = {
        "exclusive": everything,
        "vgpu": (use == s.IDLE) | (use == s.SHARED),
        "mig": may_cut(device) & (fleet.kinds.cuttable.take(kind) == 1),
    }[task.isolation]
    return [
        ("schedulable", device[s.OPEN] == 1),
        ("model", models.take(kind)),
        ("vendor", task.models.take(kind) == 1),
        ("selector", selected),
        ("mig_mode", (fleet.kinds.uncut.take(kind) == 0) if cut else fleet.kinds.plain.take(kind) == 1),
        ("isolation", usable),
        ("mig_profile", can if cut else everything),
        ("memory", everything if cut else memory >= want.memory.take(kind)),
        ("share", whole_free(device) if whole else device[s.SHARE] >= want.share.take(kind)),
        ("trust", may_share(device, task.trust) if soft else everything),
        ("node_cpu", (node[s.CPU] >= asked.cpu_milli)[:, None] & everything),
        ("node_memory", (node[s.HOST] >= asked.host_memory_mib)[:, None] & everything),
        ("affinity", rows[:, None] & everything),
        ("node_devices", enough[:, None] & everything),
    ]


def _kinds(fleet: Fleet, request: ReplicaRequest) -> Bools:
    return np.array([allows(request, kind) for kind in fleet.kinds.all], dtype=bool)


def _nodes(fleet: Fleet, task: TaskClass, rows: Bools, last: str) -> tuple[FilterCount, ...]:
    node, request = fleet.state.node, task.request
    left: Bools = np.ones(node.shape[1], dtype=bool)
    counts = []
    for name, passes in (
        ("schedulable", node[s.NODE_OPEN] == 1),
        ("node_cpu", node[s.CPU] >= request.cpu_milli),
        ("node_memory", node[s.HOST] >= request.host_memory_mib),
        ("affinity", rows),
    ):
        counts.append(FilterCount(name, 0, int((left & ~passes).sum())))
        left = left & passes
    counts.append(FilterCount(last, 0, int(left.sum())))
    return tuple(count for count in counts if count.nodes)
