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
Ints = NDArray[np.int64]
Stopped = NDArray[np.uint8]

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


AT: Final = {name: index for index, name in enumerate(FILTERS)}
NO_CARD: Final = len(FILTERS)  # where a row has no further card


def funnel(
    fleet: Fleet, task: TaskClass, allowed: Bools | None = None, scattered: bool = False
) -> tuple[FilterCount, ...]:
    """Counts by filter, in order, of all cards (of all nodes for CPU-only work); zeros are
    left out, and the counts add up to the fleet. ``allowed``: by row, where neighbours let the
    job be. ``scattered``: only the required topology level is missing. Of unequal devices, those
    of the sort that fewest cards can serve are counted."""
    return counts_of(*totals(stops(fleet, task, allowed, scattered)), task.request.devices == 0)


def stops(
    fleet: Fleet, task: TaskClass, allowed: Bools | None = None, scattered: bool = False, rows: Ints | None = None
) -> Stopped:
    """By row (of all, or for devices that are alike of these) and column, the filter that stops the
    card, as its place in :data:`FILTERS`; for CPU-only work one column that stands for the node."""
    fleet.settle()
    device, node = fleet.state.device, fleet.state.node
    if rows is not None:
        device, node = device.take(rows, axis=1), node.take(rows, axis=1)
    inside = np.ones(node.shape[1], dtype=bool) if allowed is None else allowed
    if task.request.devices == 0:
        filters, cards = _node_filters(task, node, inside), np.ones((node.shape[1], 1), dtype=bool)
    else:
        filters, cards = _card_filters(fleet, task, device, node, inside), device[s.KIND] > 0
    stopped = np.full(cards.shape, AT["topology" if scattered else "gang"], dtype=np.uint8)
    for name, passes in reversed(filters):
        np.putmask(stopped, ~passes, AT[name])
    np.putmask(stopped, ~cards, NO_CARD)
    return stopped


def totals(stopped: Stopped) -> tuple[list[int], list[int]]:
    """By filter, the cards that it stops and the rows that have such a card."""
    cells = stopped.size
    met = np.zeros((len(stopped), NO_CARD + 1), dtype=bool)
    met[np.repeat(np.arange(len(stopped)), cells // max(len(stopped), 1)), stopped.ravel()] = True
    cards: list[int] = np.bincount(stopped.ravel(), minlength=NO_CARD + 1).tolist()
    nodes: list[int] = met.sum(axis=0).tolist()
    return cards, nodes


def counts_of(cards: list[int], nodes: list[int], of_nodes: bool) -> tuple[FilterCount, ...]:
    """The totals by name, without zeros. ``of_nodes``: no cards were asked for."""
    found = zip(FILTERS, cards[:NO_CARD], nodes[:NO_CARD], strict=True)
    return tuple(FilterCount(name, 0 if of_nodes else some, on) for name, some, on in found if on)


def _scarcest(fleet: Fleet, task: TaskClass) -> TaskClass:
    """Of unequal devices, the part that fewest cards can serve; else the request itself."""
    if not task.parts:
        return task
    return min(task.parts, key=lambda part: int(eligible(fleet.state.device, part, part.wants[0]).sum()))


def _card_filters(
    fleet: Fleet, whole_task: TaskClass, device: Ints, node: Ints, inside: Bools
) -> list[tuple[str, Bools]]:
    task = _scarcest(fleet, whole_task)
    request, asked = task.request, whole_task.request
    want = task.wants[-1]  # the least demanding device
    kind = device[s.KIND]
    whole, soft, cut = (task.isolation == name for name in ("exclusive", "vgpu", "mig"))
    memory = device[s.MEMORY] if soft else fleet.kinds.memory.take(kind)
    can = eligible(device, task, want)
    parts: Ints | Bools = parts_per_card(fleet, task, want, device) if cut else can
    enough: Bools = parts.sum(axis=1) >= request.devices
    if whole_task.parts:
        enough = choose_unequal(fleet, whole_task, look(fleet, None, 0)).enough
    use = device[s.USE]
    filters = [
        ("schedulable", device[s.OPEN] == 1),
        ("model", of_model(fleet, request).take(kind)),
        ("vendor", task.models.take(kind) == 1),
    ]
    if task.selected is not None:
        filters.append(("selector", task.selected.take(device[s.LABEL]) == 1))
    if cut:
        may = may_cut(device) & (fleet.kinds.cuttable.take(kind) == 1)
        filters += [("mig_mode", fleet.kinds.uncut.take(kind) == 0), ("isolation", may), ("mig_profile", can)]
    else:
        filters.append(("mig_mode", fleet.kinds.plain.take(kind) == 1))
    if soft:
        filters.append(("isolation", (use == s.IDLE) | (use == s.SHARED)))
    if not cut:
        filters.append(("memory", memory >= want.memory.take(kind)))
    filters.append(("share", whole_free(device) if whole else device[s.SHARE] >= want.share.take(kind)))
    if soft:
        filters.append(("trust", may_share(device, task.trust)))
    filters += [
        ("node_cpu", (node[s.CPU] >= asked.cpu_milli)[:, None]),
        ("node_memory", (node[s.HOST] >= asked.host_memory_mib)[:, None]),
        ("affinity", inside[:, None]),
        ("node_devices", enough[:, None]),
    ]
    return [(name, np.broadcast_to(passes, kind.shape)) for name, passes in filters]


def of_model(fleet: Fleet, request: ReplicaRequest) -> Bools:
    """By kind of card, whether its model alone would do."""
    named = replace(request, vendors=frozenset(), preference=())
    return np.array([allows(named, kind) for kind in fleet.kinds.all], dtype=bool)


def _node_filters(task: TaskClass, node: Ints, inside: Bools) -> list[tuple[str, Bools]]:
    request = task.request
    return [
        ("schedulable", (node[s.NODE_OPEN] == 1)[:, None]),
        ("node_cpu", (node[s.CPU] >= request.cpu_milli)[:, None]),
        ("node_memory", (node[s.HOST] >= request.host_memory_mib)[:, None]),
        ("affinity", inside[:, None]),
    ]
