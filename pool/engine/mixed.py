"""The cards for a replica whose devices differ: a whole card beside a slice, say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible
from pool.engine.picks import NEVER, Picks, View, offer_of, usable_after
from pool.engine.taking import take_part
from pool.engine.types import WHOLE

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]


def choose_unequal(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """The hardest device first, each the cheapest of the cards that fewest of the other devices
    could use. Whole cards and shares of one replica lie on cards of their own; MIG slices may lie
    on one."""
    rows = view.lines
    now = replace(view, device=view.device.copy())
    enough = np.ones(len(rows), dtype=bool)
    share = np.zeros(len(rows), dtype=np.int64)
    taken = np.zeros(view.worth.shape, dtype=bool)
    columns, starts = [], []
    sorts = {part.request: eligible(view.device, part, part.wants[0]) for part in task.parts}
    for place, part in enumerate(task.parts):
        want = part.wants[0]
        offer = offer_of(fleet, part, want, now)
        can = offer.can if part.isolation == "mig" else offer.can & ~taken
        later = {other.request for other in task.parts[place + 1 :]} - {part.request}
        others = sum((sorts[request] for request in later), np.zeros(can.shape, dtype=np.int64))
        least = np.where(can, others, len(sorts)).min(axis=1)
        column = np.where(can & (others == least[:, None]), offer.cost, NEVER).argmin(axis=1)
        enough &= can[rows, column]
        start = np.zeros(len(rows), dtype=np.int64) if offer.start is None else offer.start[rows, column]
        share += want.share.take(now.device[s.KIND, rows, column])
        take_part(fleet, now.device, rows, column, part, want, start)
        if part.isolation != "mig":
            taken[rows, column] = True
        now = _looked_at(fleet, now)
        columns.append(column)
        starts.append(start)
    return Picks(enough, np.stack(columns, axis=1), np.stack(starts, axis=1), share, usable_after(fleet.tables, now))


def _looked_at(fleet: Fleet, view: View) -> View:
    """The view with what is derived brought up to date."""
    device, mix, kinds = view.device, fleet.tables, fleet.kinds
    room = np.minimum(device[s.SHARE], device[s.MEMORY] * WHOLE // kinds.memory.take(device[s.KIND]))
    soft = (device[s.USE] == s.IDLE) | (device[s.USE] == s.SHARED)
    device[s.ROOM] = np.maximum(room, 0) * (soft * device[s.OPEN] * kinds.plain.take(device[s.KIND]))
    device[s.STEP] = mix.share_step.take(device[s.ROOM])
    whole = device[s.ROOM] == WHOLE
    return replace(view, worth=s.value(device, view.cards, mix), whole=whole, count=whole.sum(axis=1))
