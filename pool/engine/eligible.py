"""Which cards could give one device of a request what it wants, right now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass, Want

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def eligible(device: Ints, task: TaskClass, want: Want) -> Bools:
    """``device[field, row, column]`` -> which cells can take one more."""
    serves: Bools = (device[s.OPEN] & want.serves.take(device[s.KIND])) == 1
    if task.selected is not None:
        serves &= task.selected.take(device[s.LABEL]) == 1
    if task.isolation == "exclusive":
        return serves & whole_free(device)
    if task.isolation == "vgpu":
        serves &= may_share(device, task.trust)
        serves &= device[s.SHARE] >= want.share[0]
        serves &= device[s.MEMORY] >= want.memory.take(device[s.KIND])
        return serves
    return serves & may_cut(device) & (slice_start(device, task, want) >= 0)


def whole_free(device: Ints) -> Bools:
    """Nothing is held of it, and it is not in MIG mode."""
    free: Bools = (device[s.USE] == s.IDLE) & (device[s.ROOM] == 10_000)
    return free


def may_share(device: Ints, trust: int) -> Bools:
    """Idle, or shared already by this trust group alone."""
    use = device[s.USE]
    shares: Bools = (use == s.IDLE) | ((use == s.SHARED) & (device[s.TRUST] == trust))
    return shares


def may_cut(device: Ints) -> Bools:
    """Idle, or cut already."""
    cuts: Bools = (device[s.USE] == s.IDLE) | (device[s.USE] == s.CUT)
    return cuts


def slice_start(device: Ints, task: TaskClass, want: Want) -> Ints:
    """The best start of the wanted profile on each card; -1 where none is free, or where the
    compute slices or media engines are used up."""
    kind = device[s.KIND]
    start: Ints = want.start.take(kind * task.states + device[s.SLICES])
    short = device[s.SHARE] < want.share.take(kind)
    engines = (want.media.take(kind) & (device[s.MEDIA] > 0)) == 1
    start[short | engines] = -1
    return start
