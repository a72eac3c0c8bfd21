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
OPEN: Final = 1  # 1 if the card and its node may take work
USE: Final = 2  # one of IDLE .. MIXED
SHARE: Final = 3  # free compute share, bp
MEMORY: Final = 4  # free MiB
TRUST: Final = 5  # number of the trust group that shares it, 0: nobody
SLICES: Final = 6  # occupied MIG memory slices, as bits
MEDIA: Final = 7  # MIG instances that hold the media engines
HELD: Final = 8  # live holds
# device fields: derived
ROOM: Final = 9  # share that soft sharing or a whole card can use, also by memory
STEP: Final = 10  # ROOM as a step of the mix tables
DEVICE_FIELDS: Final = 11

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
    device, node = state.device[:, rows], state.node[:, rows]
    room = np.minimum(device[SHARE], device[MEMORY] * WHOLE // kinds.memory.take(device[KIND]))
    np.maximum(room, 0, out=room)
    soft = (device[USE] == IDLE) | (device[USE] == SHARED)
    device[ROOM] = room * (soft & (device[OPEN] == 1))
    device[STEP] = mix.share_step.take(device[ROOM])
    node[FREE] = np.maximum(device[SHARE] * device[OPEN], 0).sum(axis=1)
    node[CARDS] = device[OPEN].sum(axis=1) * WHOLE
    worth = value(device, node[CPU], mix)
    whole = (device[ROOM] == WHOLE).sum(axis=1)
    node[USABLE] = worth.sum(axis=1) + whole_cards(node, node[CPU], whole, mix)
    state.device[ROOM, rows], state.device[STEP, rows] = device[ROOM], device[STEP]
    state.node[FREE:, rows] = node[FREE:]


def cpu_step(cpu: Ints, mix: MixTables) -> Ints:
    """The step of the mix tables that this much free CPU reaches."""
    return np.searchsorted(mix.cpu_steps, cpu, "right")


def value(device: Ints, cpu: Ints, mix: MixTables) -> Ints:
    """What each device is worth to one-device tasks of the mix, given the node's free CPU."""
    base = device[KIND] * mix.cpus + cpu_step(cpu, mix)[:, None]
    worth: Ints = device[ROOM] * mix.single.take(base * mix.shares + device[STEP])
    if mix.states > 1:
        cuttable = (device[OPEN] == 1) & ((device[USE] == IDLE) | (device[USE] == CUT))
        worth += cuttable * mix.cut.take(base * mix.states + device[SLICES])
    return worth


def whole_cards(node: Ints, cpu: Ints, count: Ints, mix: MixTables) -> Ints:
    """What ``count`` whole free cards of a node are worth to tasks of several cards.

    A node of unlike cards counts as made of its first card's kind: this shapes the score only,
    never what fits.
    """
    base = node[FIRST_KIND] * mix.cpus + cpu_step(cpu, mix)
    worth: Ints = mix.multi.take(base * mix.counts + count)
    return worth
