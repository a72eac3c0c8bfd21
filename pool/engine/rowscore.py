"""The score of one row in plain numbers: what :func:`pool.engine.scoring.score` gives for it.

For requests whose devices are alike, which nearly all are. The arrays say the same of any
request and any number of rows; this is for the few rows that change between two decisions.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.mix import SCALE, MixTables
from pool.engine.plain import PlainRow
from pool.engine.scoring import ROW_BITS, TIE_BITS, TIE_FULL, ZERO_BUCKET
from pool.engine.types import WHOLE, Policy

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Pick = tuple[int, int, int, int, int, int]  # cost, free room, column, lost, start, share


@dataclass(frozen=True, slots=True)
class PlainClass:
    """A task class in plain numbers. By kind of card: ``serves``, ``memory``, ``share``."""

    task: TaskClass
    devices: int
    serves: list[int]
    memory: list[int]
    share: list[int]
    units: list[int]
    media: list[int]
    selected: list[int] | None
    least: int  # share that a node must have free for all the devices; 0 where slices are asked for


def plain_class(task: TaskClass) -> PlainClass | None:
    """The class in plain numbers; None if its devices differ, or are slices that may share a card."""
    devices = task.request.devices
    if task.parts or len(task.wants) > 1 or (task.isolation == "mig" and devices > 1):
        return None
    want = task.wants[0]
    least = devices * int(want.share[0]) if task.isolation in ("exclusive", "vgpu") else 0
    serves, memory, share, units, media = (
        values.tolist() for values in (want.serves, want.memory, want.share, want.units, want.media)
    )
    selected = None if task.selected is None else task.selected.tolist()
    return PlainClass(task, devices, serves, memory, share, units, media, selected, least)


def has_room(one: PlainClass, row: PlainRow) -> bool:
    """Whether the row's sums suffice; in a full pool nearly no row's do."""
    request = one.task.request
    if row.cpu < request.cpu_milli or row.host < request.host_memory_mib or row.free < one.least or not row.is_open:
        return False
    return one.task.isolation != "exclusive" or row.whole >= one.devices


def row_score(
    fleet: Fleet, one: PlainClass, policy: Policy, tight: bool, at: int, row: PlainRow
) -> tuple[int, int, list[int], list[int]] | None:
    """Key, change, columns and starts of a row that has room by its sums; None if its cards do not do."""
    mix = fleet.tables
    step = bisect_right(mix.plain.cpu_steps, row.cpu - one.task.request.cpu_milli)
    board = (row.first_kind * mix.cpus + step) * mix.counts
    offers_of = _OFFERS[one.task.isolation] if one.devices else _no_devices
    worth, offers = offers_of(fleet, one, row, step, mix.plain.broken[board + row.whole])
    if len(offers) < one.devices:
        return None
    offers.sort()
    chosen = offers[: one.devices]
    lost = sum(pick[3] for pick in chosen)
    broken = sum(row.cells[pick[2]][s.ROOM] == WHOLE for pick in chosen)
    usable = worth - lost + mix.plain.multi[board + row.whole - broken]
    change = row.usable - usable - sum(pick[5] for pick in chosen) * SCALE
    width = policy.bucket_bp * SCALE
    bucket = (2 * change + width) // (2 * width)
    tie = row.free * TIE_FULL // fleet.largest[0]
    if tight:
        tie = (tie + max(row.cpu, 0) * TIE_FULL // fleet.largest[1]) // 2
    key = ((((bucket + ZERO_BUCKET) << TIE_BITS) | tie) << ROW_BITS) | at
    return key, change, [pick[2] for pick in chosen], [pick[4] for pick in chosen]


Offers = tuple[int, list[Pick]]  # what all cards are worth to the mix, with the CPU that is left


def _no_devices(fleet: Fleet, one: PlainClass, row: PlainRow, step: int, broken: int) -> Offers:
    mix, worth = fleet.tables, 0
    single, cpus, shares = mix.plain.single, mix.cpus, mix.shares
    for kind, _, _, _, _, _, _, _, _, _, room, share_step in row.cells:
        if room:
            worth += room * single[(kind * cpus + step) * shares + share_step]
    return worth + _cuttable(fleet, row, step), []


def _cuttable(fleet: Fleet, row: PlainRow, step: int) -> int:
    """What the slices of all cards are worth."""
    mix = fleet.tables
    return sum(_cut(mix, cell, step) for cell in row.cells) if mix.states > 1 else 0


def _cut(mix: MixTables, cell: list[int], step: int) -> int:
    if cell[s.OPEN] and cell[s.USE] in (s.IDLE, s.CUT):
        return mix.cut.item((cell[s.KIND] * mix.cpus + step) * mix.states + cell[s.SLICES])
    return 0


def _whole_cards(fleet: Fleet, one: PlainClass, row: PlainRow, step: int, broken: int) -> Offers:
    mix, total, offers, column = fleet.tables, 0, list[Pick](), -1
    single, cpus, shares = mix.plain.single, mix.cpus, mix.shares
    for kind, label, is_open, use, _, _, _, _, _, _, room, share_step in row.cells:
        column += 1
        if not room:
            continue
        worth = room * single[(kind * cpus + step) * shares + share_step]
        total += worth
        if room != WHOLE or use or not is_open or not one.serves[kind]:  # in use: not s.IDLE
            continue
        if one.selected is None or one.selected[label]:
            offers.append((worth, room, column, worth, column, WHOLE))  # what breaks is the same of all
    return total + _cuttable(fleet, row, step), offers


def _shares(fleet: Fleet, one: PlainClass, row: PlainRow, step: int, broken: int) -> Offers:
    mix, total, offers, column = fleet.tables, 0, list[Pick](), -1
    single, cpus, shares, steps = mix.plain.single, mix.cpus, mix.shares, mix.plain.share_step
    trust, asked, serves, asked_memory = one.task.trust, one.share[0], one.serves, one.memory
    for kind, label, is_open, use, share, memory, holder, _, _, _, room, share_step in row.cells:
        column += 1
        line = (kind * cpus + step) * shares
        worth = room * single[line + share_step] if room else 0
        total += worth
        if share < asked or not is_open or not serves[kind] or memory < asked_memory[kind]:
            continue
        if use and (use != s.SHARED or holder != trust):  # in use: not s.IDLE
            continue
        if one.selected is not None and not one.selected[label]:
            continue
        left = max(min(share - asked, (memory - asked_memory[kind]) * WHOLE // fleet.kinds.memories[kind]), 0)
        lost = worth - left * single[line + steps[left]]
        offers.append((lost + broken if room == WHOLE else lost, room, column, lost, column, asked))
    return total + _cuttable(fleet, row, step), offers


def _slices(fleet: Fleet, one: PlainClass, row: PlainRow, step: int, broken: int) -> Offers:
    offers, mix, starts = list[Pick](), fleet.tables, one.task.wants[0].start
    for column, cell in enumerate(row.cells):
        kind, label, is_open, use, share, _, _, slices, media, _, _, _ = cell
        if not is_open or not one.serves[kind] or use not in (s.IDLE, s.CUT) or share < one.share[kind]:
            continue
        if (one.media[kind] and media > 0) or (one.selected is not None and not one.selected[label]):
            continue
        start = starts.item(kind * one.task.states + slices)
        if start < 0:
            continue
        taken = slices | (one.units[kind] << start)
        lost = _cut(mix, cell, step) - mix.cut.item((kind * mix.cpus + step) * mix.states + taken)
        offers.append((lost, WHOLE if use == s.IDLE else 0, column, lost, start, one.share[kind]))
    return _no_devices(fleet, one, row, step, broken)[0], offers


_OFFERS = {"exclusive": _whole_cards, "vgpu": _shares, "mig": _slices}
