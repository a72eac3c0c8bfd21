"""Taking one device part on many nodes at once, on the arrays alone (holds.py takes one hold)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass, Want

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]
_USE: Final = {"exclusive": s.WHOLE_CARD, "vgpu": s.SHARED, "mig": s.CUT}


def take_part(fleet: Fleet, device: Ints, rows: Ints, column: Ints, task: TaskClass, want: Want, start: Ints) -> None:
    """Write into ``device[field, row, column]`` that each of ``rows`` (all different) gives the
    part at its ``column``, a MIG slice from ``start``. What is derived stays as it was."""
    kind = device[s.KIND, rows, column]
    whole = task.isolation == "exclusive"
    device[s.SHARE, rows, column] -= want.share.take(kind)
    device[s.MEMORY, rows, column] -= fleet.kinds.memory.take(kind) if whole else want.memory.take(kind)
    device[s.USE, rows, column] = _USE[task.isolation]
    device[s.HELD, rows, column] += 1
    if task.isolation == "vgpu":
        device[s.TRUST, rows, column] = task.trust
    if task.isolation == "mig":
        device[s.SLICES, rows, column] |= want.units.take(kind) << np.maximum(start, 0)
        device[s.MEDIA, rows, column] += want.media.take(kind)
