"""The score of a task class on every node, or on the nodes that changed.

A node's score is one integer, smaller is better: ``bucket | tie | row``, so that a plain argmin
applies the whole tie rule. The rule is FGD* (fragmentation gradient descent with the change
rounded to the NEAREST bucket, since a placement that changes nothing must not sit on a bucket's
edge), then the fullest node, then the lowest node key. All arithmetic is on integers: equal
states score equal on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.mix import SCALE
from pool.engine.mixed import choose_unequal
from pool.engine.picks import NEVER, choose, look
from pool.engine.types import Policy

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]

ROW_BITS: Final = 20
TIE_BITS: Final = 20
ZERO_BUCKET: Final = 1 << 18
TIE_FULL: Final = (1 << TIE_BITS) - 1


@dataclass(slots=True)
class Scores:
    """By row: the composite ``key``, the exact fragmentation ``change`` (bp x SCALE), and the
    ``column`` and MIG ``start`` for each of the request's devices in picking order."""

    key: Ints
    change: Ints
    column: Ints
    start: Ints


def score(fleet: Fleet, task: TaskClass, policy: Policy, rows: Ints | None = None) -> Scores:
    """Scores of all rows, or of these rows. The fleet must be settled."""
    request = task.request
    view = look(fleet, rows, request.cpu_milli)
    node = view.node
    picks = choose_unequal(fleet, task, view) if task.parts else choose(fleet, task, view)
    change = node[s.USABLE] - picks.usable - picks.share * SCALE
    width = policy.bucket_bp * SCALE
    bucket = (2 * change + width) // (2 * width)  # to the nearest; a half goes up
    key = ((bucket + ZERO_BUCKET) << TIE_BITS) | packing_tie(fleet, policy, node)
    key = (key << ROW_BITS) | (np.arange(node.shape[1]) if rows is None else rows)
    fits = picks.enough & (node[s.NODE_OPEN] == 1) & (view.cpu >= 0) & (node[s.HOST] >= request.host_memory_mib)
    key[~fits] = NEVER
    return Scores(key, change, picks.column, picks.start)


def packing_tie(fleet: Fleet, policy: Policy, node: Ints) -> Ints:
    """Free GPU share of the node, or half of it and half its free CPU where CPU is tight; in
    parts of the largest node, so that small numbers mean a full node."""
    most_gpu = fleet.largest[0]
    gpu: Ints = node[s.FREE] * TIE_FULL // most_gpu
    if not cpu_is_tight(fleet, policy):
        return gpu
    cpu = np.maximum(node[s.CPU], 0) * TIE_FULL // fleet.largest[1]
    both: Ints = (gpu + cpu) // 2
    return both


def cpu_is_tight(fleet: Fleet, policy: Policy) -> bool:
    """Whether the mix asks for CPU at nearly the rate, relative to capacity, of GPU."""
    cpu, gpu = fleet.capacity
    return fleet.mix.cpu_demand * gpu * 100 > policy.cpu_tie_percent * fleet.mix.gpu_demand * cpu
