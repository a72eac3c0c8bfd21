"""Which cards of each node a replica would take, for many nodes at once.

A card's cost is what the typical mix loses if it is taken, then whether its mode would have to
switch, then how much of it is free, then its index: the cheapest card is taken. Costs are
reckoned before the first pick, except for MIG, where slices of one replica may lie on one card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass, Want
from pool.engine.eligible import eligible, slice_start
from pool.engine.types import WHOLE

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEVER: Final = np.int64(2**62)
ROOM_BITS: Final = 14
COLUMN_BITS: Final = 6


@dataclass(slots=True)
class View:
    """Some rows of the fleet, with the CPU that the replica would leave on each."""

    device: Ints
    node: Ints
    cpu: Ints
    worth: Ints  # [row, column] to the mix, with that CPU
    whole: Bools  # [row, column] a whole free card
    count: Ints  # [row] whole free cards


@dataclass(slots=True)
class Picks:
    """By row: whether there are cards enough, ``column`` and MIG ``start`` by pick, the share
    taken (bp), the ``switch`` flag, and what the node is still worth to the mix."""

    enough: Bools
    column: Ints
    start: Ints
    share: Ints
    switch: Ints
    usable: Ints


@dataclass(slots=True)
class _Offer:
    can: Bools
    cost: Ints
    lost: Ints
    start: Ints


def look(fleet: Fleet, rows: Ints | None, cpu_milli: int) -> View:
    """The view of all rows, or of these."""
    state = fleet.state
    device = state.device if rows is None else state.device[:, rows]
    node = state.node if rows is None else state.node[:, rows]
    cpu = node[s.CPU] - cpu_milli
    whole = device[s.ROOM] == WHOLE
    return View(device, node, cpu, s.value(device, cpu, fleet.tables), whole, whole.sum(axis=1))


def choose(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """The cards that each row would give."""
    devices = task.request.devices
    if devices == 0:
        return _none(fleet, view)
    if task.isolation == "mig" and devices > 1:
        return _slices(fleet, task, view)
    if len(task.wants) > 1:
        return _unlike(fleet, task, view)
    offer = _offer(fleet, task, task.wants[0], view)
    if devices == 1:
        column = offer.cost.argmin(axis=1)[:, None]
    else:
        column = offer.cost.argsort(axis=1)[:, :devices]
    enough = offer.can.sum(axis=1) >= devices
    if column.shape[1] < devices:  # no node has that many cards
        column = np.zeros((len(view.cpu), devices), dtype=np.int64)
    return _finish(fleet, task, view, [offer], column, enough)


def _none(fleet: Fleet, view: View) -> Picks:
    rows = len(view.cpu)
    blank = np.zeros((rows, 0), dtype=np.int64)
    zero = np.zeros(rows, dtype=np.int64)
    usable = view.worth.sum(axis=1) + s.whole_cards(view.node, view.cpu, view.count, fleet.tables)
    return Picks(np.ones(rows, dtype=bool), blank, blank, zero, zero, usable)


def _unlike(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """Devices of different memory: the largest first, each from the cards still untaken."""
    rows = np.arange(len(view.cpu))
    enough = np.ones(len(rows), dtype=bool)
    taken = np.zeros(view.worth.shape, dtype=bool)
    offers, columns = [], []
    for want in task.wants:
        offer = _offer(fleet, task, want, view)
        column = np.where(taken, NEVER, offer.cost).argmin(axis=1)
        enough &= (offer.can & ~taken)[rows, column]
        taken[rows, column] = True
        offers.append(offer)
        columns.append(column)
    return _finish(fleet, task, view, offers, np.stack(columns, axis=1), enough)


def _slices(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """Several MIG slices for one replica, on one card or more, one after another."""
    rows = np.arange(len(view.cpu))
    now = View(view.device.copy(), view.node, view.cpu, view.worth, view.whole, view.count)
    enough = np.ones(len(rows), dtype=bool)
    share = np.zeros(len(rows), dtype=np.int64)
    columns, starts = [], []
    for pick in range(task.request.devices):
        want = task.want(pick)
        offer = _offer(fleet, task, want, now)
        column = offer.cost.argmin(axis=1)
        enough &= offer.can[rows, column]
        start = np.maximum(offer.start[rows, column], 0)
        kind = now.device[s.KIND, rows, column]
        share += want.share.take(kind)
        now.device[s.SLICES, rows, column] |= want.units.take(kind) << start
        now.device[s.SHARE, rows, column] -= want.share.take(kind)
        now.device[s.MEDIA, rows, column] += want.media.take(kind)
        now.device[s.USE, rows, column] = s.CUT
        now.device[s.ROOM, rows, column] = 0
        now.whole = now.device[s.ROOM] == WHOLE
        now.count = now.whole.sum(axis=1)
        now.worth = s.value(now.device, now.cpu, fleet.tables)
        columns.append(column)
        starts.append(start)
    usable = now.worth.sum(axis=1) + s.whole_cards(now.node, now.cpu, now.count, fleet.tables)
    none = np.zeros(len(rows), dtype=np.int64)
    return Picks(enough, np.stack(columns, axis=1), np.stack(starts, axis=1), share, none, usable)


def _offer(fleet: Fleet, task: TaskClass, want: Want, view: View) -> _Offer:
    device, mix = view.device, fleet.tables
    can = eligible(device, task, want)
    start = slice_start(device, task, want) if task.isolation == "mig" else device[s.SLICES]
    lost = view.worth - _worth_after(fleet, task, want, view, start)
    fewer = s.whole_cards(view.node, view.cpu, np.maximum(view.count - 1, 0), mix)
    broken = s.whole_cards(view.node, view.cpu, view.count, mix) - fewer
    cost = (lost + view.whole * broken[:, None]) << 1
    if task.isolation != "mig" and mix.states > 1:
        cost |= fleet.kinds.cuttable.take(device[s.KIND]) & (device[s.USE] == s.IDLE)
    cost = (cost << ROOM_BITS) | device[s.ROOM]
    cost = (cost << COLUMN_BITS) | np.arange(device.shape[2])
    cost[~can] = NEVER
    return _Offer(can, cost, lost, start)


def _worth_after(fleet: Fleet, task: TaskClass, want: Want, view: View, start: Ints) -> Ints:
    """What each card would be worth with the replica's part taken. Only where it can be."""
    device, mix = view.device, fleet.tables
    kind = device[s.KIND]
    if task.isolation == "exclusive":
        return np.zeros_like(kind)
    base = kind * mix.cpus + s.cpu_step(view.cpu, mix)[:, None]
    if task.isolation == "mig":
        slices = device[s.SLICES] | (want.units.take(kind) << np.maximum(start, 0))
        left: Ints = mix.cut.take(base * mix.states + slices)
        return left
    share = device[s.SHARE] - want.share[0]
    memory = (device[s.MEMORY] - want.memory.take(kind)) * WHOLE // fleet.kinds.memory.take(kind)
    room = np.clip(np.minimum(share, memory), 0, WHOLE)
    worth: Ints = room * mix.single.take(base * mix.shares + mix.share_step.take(room))
    return worth


def _finish(fleet: Fleet, task: TaskClass, view: View, offers: list[_Offer], column: Ints, enough: Bools) -> Picks:
    rows = np.arange(len(view.cpu))
    lost = np.zeros(len(rows), dtype=np.int64)
    share = np.zeros(len(rows), dtype=np.int64)
    start = np.zeros(column.shape, dtype=np.int64)
    for pick in range(column.shape[1]):
        at = (rows, column[:, pick])
        offer = offers[pick if len(offers) > 1 else 0]
        lost += offer.lost[at]
        share += task.want(pick).share.take(view.device[s.KIND][at])
        start[:, pick] = offer.start[at]
    every = (rows[:, None], column)
    count = np.maximum(view.count - view.whole[every].sum(axis=1), 0)
    switch = np.zeros(len(rows), dtype=np.int64)
    if task.isolation != "mig" and fleet.tables.states > 1:
        cells = fleet.kinds.cuttable.take(view.device[s.KIND][every])
        switch = (cells & (view.device[s.USE][every] == s.IDLE)).max(axis=1)
    usable = view.worth.sum(axis=1) - lost
    usable += s.whole_cards(view.node, view.cpu, count, fleet.tables)
    return Picks(enough, column, start, share, switch, usable)
