"""Which cards of each node a replica would take, for many nodes at once.

A card's cost is what the typical mix loses if it is taken, then how much of it is free, then
its index: the cheapest card is taken. Costs are reckoned before the first pick, except for MIG,
where slices of one replica may lie on one card.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass, Want
from pool.engine.eligible import eligible, slice_start
from pool.engine.mix import MixTables
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
    cards: Ints  # [row, column] where a card's lines of the mix tables begin
    board: Ints  # [row] where the node's line of the tables for several cards begins
    worth: Ints  # [row, column] to the mix, with that CPU
    whole: Bools  # [row, column] a whole free card
    count: Ints  # [row] whole free cards
    lines: Ints  # 0, 1, ... one a row


@dataclass(slots=True)
class Picks:
    """By row: whether there are cards enough, ``column`` and MIG ``start`` by pick, the share
    taken (bp), and what the node is still worth to the mix."""

    enough: Bools
    column: Ints
    start: Ints
    share: Ints | int
    usable: Ints


@dataclass(slots=True)
class Offer:
    """By row and column: whether the card ``can`` serve, at what ``cost``, what the mix would
    lose, and where the slice would ``start``."""

    can: Bools
    cost: Ints
    lost: Ints
    start: Ints | None


def look(fleet: Fleet, rows: Ints | None, cpu_milli: int) -> View:
    """The view of all rows, or of these."""
    state, mix = fleet.state, fleet.tables
    device = state.device if rows is None else state.device.take(rows, axis=1)
    node = state.node if rows is None else state.node.take(rows, axis=1)
    cpu = node[s.CPU] - cpu_milli
    cards, board = s.bases(device, node, cpu, mix)
    whole = device[s.ROOM] == WHOLE
    count = np.add.reduce(whole, axis=1)
    return View(device, node, cpu, cards, board, s.value(device, cards, mix), whole, count, np.arange(len(cpu)))


def choose(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """The cards that each row would give."""
    devices = task.request.devices
    if devices == 0:
        return _none(fleet.tables, view)
    if task.isolation == "mig" and devices > 1:
        return _slices(fleet, task, view)
    if len(task.wants) > 1:
        return _unlike(fleet, task, view)
    offer = offer_of(fleet, task, task.wants[0], view)
    enough = np.add.reduce(offer.can, axis=1) >= devices
    if devices == 1:
        column = offer.cost.argmin(axis=1)[:, None]
    elif devices <= offer.cost.shape[1]:
        column = offer.cost.argsort(axis=1)[:, :devices]
    else:  # no node has that many cards
        column = np.zeros((len(view.cpu), devices), dtype=np.int64)
    return _finish(fleet, task, view, [offer], column, enough)


def _none(mix: MixTables, view: View) -> Picks:
    rows = len(view.cpu)
    blank = np.zeros((rows, 0), dtype=np.int64)
    return Picks(np.ones(rows, dtype=bool), blank, blank, 0, usable_after(mix, view))


def usable_after(mix: MixTables, view: View) -> Ints:
    """What each node of a view is worth to the mix."""
    worth: Ints = np.add.reduce(view.worth, axis=1) + mix.multi.take(view.board + view.count)
    return worth


def _unlike(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """Devices of different memory: the largest first, each from the cards still untaken."""
    rows = view.lines
    enough = np.ones(len(rows), dtype=bool)
    taken = np.zeros(view.worth.shape, dtype=bool)
    offers, columns = [], []
    for want in task.wants:
        offer = offer_of(fleet, task, want, view)
        column = np.where(taken, NEVER, offer.cost).argmin(axis=1)
        enough &= (offer.can & ~taken)[rows, column]
        taken[rows, column] = True
        offers.append(offer)
        columns.append(column)
    return _finish(fleet, task, view, offers, np.stack(columns, axis=1), enough)


def _slices(fleet: Fleet, task: TaskClass, view: View) -> Picks:
    """Several MIG slices for one replica, on one card or more, one after another."""
    rows, device, mix = view.lines, view.device.copy(), fleet.tables
    enough = np.ones(len(rows), dtype=bool)
    share = np.zeros(len(rows), dtype=np.int64)
    columns, starts = [], []
    now = replace(view, device=device)
    for pick in range(task.request.devices):
        want = task.want(pick)
        offer = offer_of(fleet, task, want, now)
        column = offer.cost.argmin(axis=1)
        enough &= offer.can[rows, column]
        start = np.maximum(slice_start(device, task, want)[rows, column], 0)
        kind = device[s.KIND, rows, column]
        share += want.share.take(kind)
        device[s.SLICES, rows, column] |= want.units.take(kind) << start
        device[s.SHARE, rows, column] -= want.share.take(kind)
        device[s.MEDIA, rows, column] += want.media.take(kind)
        device[s.USE, rows, column] = s.CUT
        now = replace(now, worth=s.value(device, view.cards, mix))
        columns.append(column)
        starts.append(start)
    return Picks(enough, np.stack(columns, axis=1), np.stack(starts, axis=1), share, usable_after(mix, now))


def offer_of(fleet: Fleet, task: TaskClass, want: Want, view: View) -> Offer:
    """What every card offers one device of a request."""
    device, mix = view.device, fleet.tables
    can = eligible(device, task, want)
    start = slice_start(device, task, want) if task.isolation == "mig" else None
    lost = view.worth - _worth_after(fleet, task, want, view, start)
    cost = lost + view.whole * mix.broken.take(view.board + view.count)[:, None]
    cost = (cost << ROOM_BITS) | (device[s.ROOM] if start is None else (device[s.USE] == s.IDLE) * WHOLE)
    cost = (cost << COLUMN_BITS) | np.arange(device.shape[2])
    cost[~can] = NEVER
    return Offer(can, cost, lost, start)


def _worth_after(fleet: Fleet, task: TaskClass, want: Want, view: View, start: Ints | None) -> Ints | int:
    """What each card would be worth with the replica's part taken. Only where it can be."""
    device, mix = view.device, fleet.tables
    kind = device[s.KIND]
    if task.isolation == "exclusive":
        return 0
    if start is not None:
        slices = device[s.SLICES] | (want.units.take(kind) << np.maximum(start, 0))
        left: Ints = mix.cut.take(view.cards * mix.states + slices)
        return left
    share = device[s.SHARE] - want.share[0]
    memory = (device[s.MEMORY] - want.memory.take(kind)) * WHOLE // fleet.kinds.memory.take(kind)
    room = np.maximum(np.minimum(share, memory), 0)
    worth: Ints = room * mix.single.take(view.cards * mix.shares + mix.share_step.take(room))
    return worth


def _finish(fleet: Fleet, task: TaskClass, view: View, offers: list[Offer], column: Ints, enough: Bools) -> Picks:
    """Sum up what the chosen cards cost. Without MIG the share is the same wherever they are."""
    mix, rows = fleet.tables, view.lines
    share: Ints | int = task.request.devices * int(task.wants[0].share[0])
    start, lost = column, np.zeros(len(rows), dtype=np.int64)
    for pick in range(column.shape[1]):
        at = (rows, column[:, pick])
        offer = offers[pick if len(offers) > 1 else 0]
        lost += offer.lost[at]
        if offer.start is not None:
            start = offer.start[at][:, None]
            share = task.wants[0].share.take(view.device[s.KIND][at])
    every = (rows[:, None], column)
    count = np.maximum(view.count - np.add.reduce(view.whole[every], axis=1), 0)
    usable = np.add.reduce(view.worth, axis=1) - lost + mix.multi.take(view.board + count)
    return Picks(enough, column, start, share, usable)
