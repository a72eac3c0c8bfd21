"""Why requests are refused, kept from one refusal to the next.

A full pool refuses the same requests again and again while little changes: of what is kept of a
request only the rows that changed are counted anew (those of few rows in plain numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pool.engine import state as s
from pool.engine.classes import TaskClass, compile_class
from pool.engine.funnel import AT, NO_CARD, Stopped, counts_of, of_model, stops, totals
from pool.engine.plain import PlainRow
from pool.engine.types import WHOLE, FilterCount, ReplicaRequest

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

MOST_KEPT: Final = 256  # requests; the oldest refused goes first
AT_ONCE: Final = 48  # rows from which arrays are quicker than plain numbers


@dataclass(slots=True)
class Stops:
    """What stopped a request: ``stopped[row, column]`` (:func:`~pool.engine.funnel.stops`), its
    totals, the position in the change log up to which they hold, and the counts by name."""

    task: TaskClass
    scattered: bool
    sieve: Sieve | None
    stopped: Stopped
    cards: list[int]
    nodes: list[int]
    position: int
    counts: tuple[FilterCount, ...]


@dataclass(frozen=True, slots=True)
class Sieve:
    """The filters of a class in plain numbers, for whole cards and soft shares. By kind of card:
    ``early`` and ``late`` the filter (0: none) before and after the selector that it never passes,
    ``memory`` (MiB) that a share takes."""

    task: TaskClass
    early: list[int]
    late: list[int]
    memory: list[int]
    selected: list[int] | None
    share: int  # 0: a whole card
    last: int


def kept_funnel(fleet: Fleet, request: ReplicaRequest, trust: int, scattered: bool) -> tuple[FilterCount, ...]:
    """The funnel of a request that no neighbour concerns."""
    key = (request, trust, scattered)
    known = fleet.reasons.pop(key, None)
    if known is None:
        known = _made(fleet, compile_class(fleet, request, trust), scattered)
    elif known.position != fleet.log.position:
        _renew(fleet, known)
    fleet.reasons[key] = known  # last used, last in the dictionary
    if len(fleet.reasons) > MOST_KEPT:
        del fleet.reasons[next(iter(fleet.reasons))]
    return known.counts


def _made(fleet: Fleet, task: TaskClass, scattered: bool) -> Stops:
    stopped = stops(fleet, task, None, scattered)
    cards, nodes = totals(stopped)
    counts = counts_of(cards, nodes, task.request.devices == 0)
    sieve = _sieve(fleet, task, scattered)
    return Stops(task, scattered, sieve, stopped, cards, nodes, fleet.log.position, counts)


def _renew(fleet: Fleet, known: Stops) -> None:
    fleet.settle()
    task, changed = known.task, fleet.log.since(known.position)
    known.position = fleet.log.position
    if known.sieve is not None and len(changed) <= AT_ONCE:
        if not _sift(fleet, known, known.sieve, changed):
            return
    elif task.parts:
        known.stopped = stops(fleet, task, None, known.scattered)
        known.cards, known.nodes = totals(known.stopped)
    else:
        rows = np.array(changed, dtype=np.int64)
        known.stopped[rows] = stops(fleet, task, None, known.scattered, rows)
        known.cards, known.nodes = totals(known.stopped)
    known.counts = counts_of(known.cards, known.nodes, task.request.devices == 0)


def _sift(fleet: Fleet, known: Stops, sieve: Sieve, changed: list[int]) -> bool:
    """Count these rows anew; whether that made a difference."""
    cards, nodes, differs = known.cards, known.nodes, False
    for at in changed:
        before, now = known.stopped[at].tolist(), sift(sieve, s.plain_row(fleet.state, at))
        if before == now:
            continue
        differs, known.stopped[at] = True, now
        for filters, sign in ((before, -1), (now, 1)):
            for stop in filters:
                cards[stop] += sign
            for stop in set(filters):
                nodes[stop] += sign
    return differs


_SCHEDULABLE, _SELECTOR, _ISOLATION = AT["schedulable"], AT["selector"], AT["isolation"]
_MEMORY, _SHARE, _TRUST = AT["memory"], AT["share"], AT["trust"]


def sift(sieve: Sieve, row: PlainRow) -> list[int]:
    """The filter that stops each card of a row."""
    task, last = sieve.task, NO_CARD + 1  # stands for what is the same of all that pass so far
    stopped = [_stop(sieve, task.trust, cell, last) if cell[s.KIND] else NO_CARD for cell in row.cells]
    passed = stopped.count(last)
    if not passed:
        return stopped
    request = task.request
    if row.cpu < request.cpu_milli:
        stop = AT["node_cpu"]
    elif row.host < request.host_memory_mib:
        stop = AT["node_memory"]
    else:
        stop = AT["node_devices"] if passed < request.devices else sieve.last
    return [stop if each == last else each for each in stopped]


def _stop(sieve: Sieve, trust: int, cell: list[int], passes: int) -> int:
    kind, label, is_open, use, share, memory, holder, _, _, _, room, _ = cell
    if not is_open:
        return _SCHEDULABLE
    if sieve.early[kind]:
        return sieve.early[kind]
    if sieve.selected is not None and not sieve.selected[label]:
        return _SELECTOR
    if sieve.late[kind]:
        return sieve.late[kind]
    if not sieve.share:
        return passes if use == s.IDLE and room == WHOLE else _SHARE
    if use != s.IDLE and use != s.SHARED:
        return _ISOLATION
    if memory < sieve.memory[kind]:
        return _MEMORY
    if share < sieve.share:
        return _SHARE
    return _TRUST if use == s.SHARED and holder != trust else passes


def _sieve(fleet: Fleet, task: TaskClass, scattered: bool) -> Sieve | None:
    if task.parts or task.isolation not in ("exclusive", "vgpu") or not task.request.devices:
        return None
    whole, want = task.isolation == "exclusive", task.wants[-1]
    models, vendors = of_model(fleet, task.request).tolist(), task.models.tolist()
    early, late = [], []
    for number, kind in enumerate(fleet.kinds.all):
        early.append(AT["vendor"] * (not vendors[number]) if models[number] else AT["model"])
        small = whole and kind.memory_mib < int(want.memory[number])
        late.append(AT["memory"] * small if kind.plain else AT["mig_mode"])
    selected = None if task.selected is None else task.selected.tolist()
    share, last = 0 if whole else int(want.share[0]), AT["topology" if scattered else "gang"]
    return Sieve(task, early, late, want.memory.tolist(), selected, share, last)
