"""The fleet as arrays: one row a node, padded to the widest node.

``device[field, row, column]`` and ``node[field, row]`` hold int64. The first part of each is
the truth that holds change; the rest is derived from it by :func:`settle`, row by row.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine.kinds import Kinds
from pool.engine.mix import MixTables
from pool.engine.plain import PlainRow
from pool.engine.types import WHOLE

Ints = NDArray[np.int64]

# device fields: the truth
KIND: Final = 0  # number of the kind, 0 for padding
LABEL: Final = 1  # number of the label set
OPEN: Final = 2  # 1 if the card and its node may take work
USE: Final = 3  # one of IDLE .. MIXED
SHARE: Final = 4  # free compute share, bp
MEMORY: Final = 5  # free MiB
TRUST: Final = 6  # number of the trust group that shares it, 0: nobody
SLICES: Final = 7  # occupied MIG memory slices, as bits
MEDIA: Final = 8  # MIG instances that hold the media engines
HELD: Final = 9  # live holds
# device fields: derived
ROOM: Final = 10  # share that soft sharing or a whole card can use, also by memory; 0 in MIG mode
STEP: Final = 11  # ROOM as a step of the mix tables
DEVICE_FIELDS: Final = 12

# node fields: the truth
CPU: Final = 0  # free milli
HOST: Final = 1  # free MiB
NODE_OPEN: Final = 2
CPU_TOTAL: Final = 3
FIRST_KIND: Final = 4
# node fields: derived
FREE: Final = 5  # free share of its open cards, bp
USABLE: Final = 6  # value of its state to the typical mix, bp x SCALE
CARDS: Final = 7  # share of its open cards, bp
NODE_FIELDS: Final = 8

IDLE: Final = 0
WHOLE_CARD: Final = 1
SHARED: Final = 2
CUT: Final = 3
MIXED: Final = 4  # holds that contradict each other: takes nothing until it is empty again


@dataclass(slots=True)
class State:
    """The arrays of a fleet, and settled rows of them in plain numbers (:func:`plain_row`)."""

    device: Ints
    node: Ints
    plain: dict[int, PlainRow] = field(default_factory=dict)

    def copy(self) -> State:
        """One that can change without this one's changing."""
        return State(self.device.copy(), self.node.copy(), self.plain.copy())

    @staticmethod
    def empty(rows: int, columns: int) -> State:
        """A state of closed padding."""
        return State(
            np.zeros((DEVICE_FIELDS, rows, columns), dtype=np.int64),
            np.zeros((NODE_FIELDS, rows), dtype=np.int64),
        )


def settle(state: State, rows: Ints, kinds: Kinds, mix: MixTables) -> None:
    """Derive ROOM, STEP, FREE, CARDS and USABLE of these rows."""
    for row in rows.tolist() if state.plain else ():
        state.plain.pop(row, None)
    device, node = state.device.take(rows, axis=1), state.node.take(rows, axis=1)
    room = np.minimum(device[SHARE], device[MEMORY] * WHOLE // kinds.memory.take(device[KIND]))
    soft = (device[USE] == IDLE) | (device[USE] == SHARED)
    device[ROOM] = np.maximum(room, 0) * (soft * device[OPEN] * kinds.plain.take(device[KIND]))
    device[STEP] = mix.share_step.take(device[ROOM])
    node[FREE] = np.add.reduce(np.maximum(device[SHARE], 0) * device[OPEN], axis=1)
    node[CARDS] = np.add.reduce(device[OPEN], axis=1) * WHOLE
    cards, board = bases(device, node, node[CPU], mix)
    whole = np.add.reduce(device[ROOM] == WHOLE, axis=1)
    node[USABLE] = np.add.reduce(value(device, cards, mix), axis=1) + mix.multi.take(board + whole)
    state.device[ROOM:, rows] = device[ROOM:]
    state.node[FREE:, rows] = node[FREE:]


def settle_one(state: State, row: int, kinds: Kinds, mix: MixTables) -> None:
    """The same for one row, which is what changes between two decisions, in plain numbers."""
    cells, node = state.device[:, row].T.tolist(), state.node[:, row].tolist()
    memory_of, plain_of, steps = kinds.memories, kinds.plains, mix.plain.share_step
    single, cpus, shares = mix.plain.single, mix.cpus, mix.shares
    step = bisect_right(mix.plain.cpu_steps, node[CPU])
    free = cards = whole = usable = 0
    differs = False
    for cell in cells:
        kind, _, is_open, use, share, memory, _, slices, _, _, room_before, step_before = cell
        room, line = 0, kind * cpus + step
        if is_open:
            cards += WHOLE
            if share > 0:
                free += share
                if (use == IDLE or use == SHARED) and plain_of[kind]:  # noqa: SIM109 a tuple takes longer
                    room = memory * WHOLE // memory_of[kind]
                    room = (share if share < room else room) if room > 0 else 0
            if mix.states > 1 and (use == IDLE or use == CUT):  # noqa: SIM109
                usable += mix.cut.item(line * mix.states + slices)
        share_step = steps[room]
        if room != room_before or share_step != step_before:
            cell[ROOM], cell[STEP], differs = room, share_step, True
        if room:
            whole += room == WHOLE
            usable += room * single[line * shares + share_step]
    usable += mix.plain.multi[(node[FIRST_KIND] * cpus + step) * mix.counts + whole]
    if differs:
        state.device[ROOM:, row] = [[cell[ROOM] for cell in cells], [cell[STEP] for cell in cells]]
    state.node[FREE:, row] = free, usable, cards
    state.plain[row] = PlainRow(cells, node[CPU], node[HOST], node[NODE_OPEN], node[FIRST_KIND], free, usable, whole)


def plain_row(state: State, row: int) -> PlainRow:
    """A settled row in plain numbers, made once until it changes."""
    known = state.plain.get(row)
    if known is None:
        cells, node = state.device[:, row].T.tolist(), state.node[:, row].tolist()
        whole = sum(cell[ROOM] == WHOLE for cell in cells)
        known = PlainRow(
            cells, node[CPU], node[HOST], node[NODE_OPEN], node[FIRST_KIND], node[FREE], node[USABLE], whole
        )
        state.plain[row] = known
    return known


def bases(device: Ints, node: Ints, cpu: Ints, mix: MixTables) -> tuple[Ints, Ints]:
    """Where each card's and each node's lines of the mix tables begin, with this free CPU.

    To tasks of several cards, a node of unlike cards counts as made of its first card's kind:
    this shapes the score only, never what fits.
    """
    step = mix.cpu_steps.searchsorted(cpu, "right")
    return device[KIND] * mix.cpus + step[:, None], (node[FIRST_KIND] * mix.cpus + step) * mix.counts


def value(device: Ints, base: Ints, mix: MixTables) -> Ints:
    """What each card is worth to one-device tasks of the mix."""
    worth: Ints = device[ROOM] * mix.single.take(base * mix.shares + device[STEP])
    if mix.states > 1:
        cuttable = (device[OPEN] == 1) & ((device[USE] == IDLE) | (device[USE] == CUT))
        worth += cuttable * mix.cut.take(base * mix.states + device[SLICES])
    return worth
