"""The fleet as arrays: one row a node, padded to the widest node.

``device[field, row, column]`` and ``node[field, row]`` hold int64. The first part of each is
the truth that holds change; the rest is derived from it by :func:`settle`, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine.kinds import Kinds
from pool.engine.mix import MixTables
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
    """The arrays of a fleet."""

    device: Ints
    node: Ints

    @staticmethod
    def empty(rows: int, columns: int) -> State:
        """A state of closed padding."""
        return State(
            np.zeros((DEVICE_FIELDS, rows, columns), dtype=np.int64),
            np.zeros((NODE_FIELDS, rows), dtype=np.int64),
        )


def settle(state: State, rows: Ints, kinds: Kinds, mix: MixTables) -> None:
    """Derive ROOM, STEP, FREE, CARDS and USABLE of these rows."""
    if len(rows) == 1:
        return settle_one(state, int(rows[0]), kinds, mix)
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
    """The same for one row, which is what changes between two decisions: plain numbers are three
    times as fast as arrays of eight."""
    cells, node = state.device[:, row].T.tolist(), state.node[:, row]
    step = int(mix.cpu_steps.searchsorted(node[CPU], "right"))
    rooms, free, cards, whole, usable = [], 0, 0, 0, 0
    for cell in cells:
        kind, is_open, use, share, slices = cell[KIND], cell[OPEN], cell[USE], cell[SHARE], cell[SLICES]
        room = 0
        if is_open and use in (IDLE, SHARED) and kinds.plain.item(kind):
            room = max(min(share, cell[MEMORY] * WHOLE // kinds.memory.item(kind)), 0)
        rooms.append(room)
        whole += room == WHOLE
        free += max(share, 0) * is_open
        cards += WHOLE * is_open
        line = kind * mix.cpus + step
        usable += room * mix.single.item(line * mix.shares + mix.share_step.item(room))
        if mix.states > 1 and is_open and use in (IDLE, CUT):
            usable += mix.cut.item(line * mix.states + slices)
    usable += mix.multi.item((int(node[FIRST_KIND]) * mix.cpus + step) * mix.counts + whole)
    state.device[ROOM, row] = rooms
    state.device[STEP, row] = [mix.share_step.item(room) for room in rooms]
    state.node[FREE:, row] = free, usable, cards


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
