"""Placing many like replicas at once, node by node, without a score for each.

How many go to which node is decided before (packing.py). Here each node gives the cards that it
would give to one replica after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible
from pool.engine.islands import Islands, by_island, islands_of
from pool.engine.mixed import choose_unequal
from pool.engine.picks import choose, look, offer_of
from pool.engine.taking import take_part

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Slot:
    """One placed replica: its row, and column and MIG start (-1) of each device in picking order."""

    row: int
    columns: tuple[int, ...]
    starts: tuple[int, ...]


def fill(fleet: Fleet, task: TaskClass, rows: Ints, counts: Ints) -> list[Slot]:
    """Place ``counts`` replicas on each of ``rows`` (of a scratch) and hold them. A node may give
    fewer than counted, where devices of a replica need cards of their own."""
    some = counts > 0
    rows, counts = rows[some], counts[some]
    if task.request.devices == 0:
        slots = [Slot(row, (), ()) for row in np.repeat(rows, counts).tolist()]
    elif task.isolation == "exclusive" and len(task.wants) == 1:
        slots = _whole_cards(fleet, task, rows, counts)
    else:
        return _in_rounds(fleet, task, rows, counts)
    _take_node(fleet, task, rows, counts)
    return slots


def _take_node(fleet: Fleet, task: TaskClass, rows: Ints, counts: Ints | int) -> None:
    fleet.state.node[s.CPU, rows] -= counts * task.request.cpu_milli
    fleet.state.node[s.HOST, rows] -= counts * task.request.host_memory_mib
    fleet.touch(rows.tolist())


def _whole_cards(fleet: Fleet, task: TaskClass, rows: Ints, counts: Ints) -> list[Slot]:
    fleet.settle()
    devices, want, islands = task.request.devices, task.wants[0], islands_of(fleet)
    device = fleet.state.device.take(rows, axis=1)
    can = eligible(device, task, want)
    kinds = np.where(can, device[s.KIND], 0)
    mixed = (kinds.max(axis=1) != np.where(can, kinds, np.iinfo(np.int64).max).min(axis=1)).tolist()
    slots: list[Slot] = []
    for at, (row, count) in enumerate(zip(rows.tolist(), counts.tolist(), strict=True)):
        free = can[at].nonzero()[0].tolist()
        if mixed[at]:  # dearer cards last
            cost = offer_of(fleet, task, want, look(fleet, rows[at : at + 1], task.request.cpu_milli)).cost[0]
            free.sort(key=cost.__getitem__)
            chosen = [free[n * devices : (n + 1) * devices] for n in range(count)]
        elif islands.any:
            chosen = _on_islands(islands, row, free, count, devices)
        else:
            chosen = [free[n * devices : (n + 1) * devices] for n in range(count)]
        slots += [Slot(row, tuple(columns), (-1,) * devices) for columns in chosen]
    held = np.array([(slot.row, column) for slot in slots for column in slot.columns], dtype=np.int64)
    take_part(fleet, fleet.state.device, held[:, 0], held[:, 1], task, want, held[:, 0])
    return slots


def _on_islands(islands: Islands, row: int, free: list[int], count: int, devices: int) -> list[list[int]]:
    """Cards for ``count`` replicas: together on as few islands as possible, each replica on one."""
    of, size = islands.of[row].tolist(), islands.size[row].tolist()
    if devices == 1:
        together = by_island([(of[c], size[c], c) for c in free], count)
        return [[column] for column in together]
    chosen = []
    for _ in range(count):
        columns = by_island([(of[c], size[c], c) for c in free], devices)
        free = [column for column in free if column not in columns]
        chosen.append(columns)
    return chosen


def _in_rounds(fleet: Fleet, task: TaskClass, rows: Ints, counts: Ints) -> list[Slot]:
    """One replica on every node that wants more, again and again."""
    request, slots = task.request, list[Slot]()
    for done in range(int(counts.max(initial=0))):
        fleet.settle()
        view = look(fleet, rows, request.cpu_milli)
        picks = choose_unequal(fleet, task, view) if task.parts else choose(fleet, task, view)
        fits = picks.enough & (view.node[s.NODE_OPEN] == 1) & (view.cpu >= 0)
        fits &= view.node[s.HOST] >= request.host_memory_mib
        rows, counts, columns, starts = rows[fits], counts[fits], picks.column[fits], picks.start[fits]
        for pick in range(request.devices):
            part = task.parts[pick] if task.parts else task
            want = part.wants[0] if task.parts else task.want(pick)
            take_part(fleet, fleet.state.device, rows, columns[:, pick], part, want, starts[:, pick])
        _take_node(fleet, task, rows, 1)
        placed = zip(rows.tolist(), columns.tolist(), starts.tolist(), strict=True)
        slots += [Slot(row, tuple(at), tuple(start)) for row, at, start in placed]
        more = counts > done + 1
        rows, counts = rows[more], counts[more]
        if not len(rows):
            break
    return slots
