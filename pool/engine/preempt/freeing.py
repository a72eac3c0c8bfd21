"""Giving back many holds at once on arrays, and counting what then fits."""

from __future__ import annotations

import numpy as np

from pool.engine import state as s
from pool.engine.capacity import replicas_per_node
from pool.engine.classes import TaskClass
from pool.engine.fleet import Fleet
from pool.engine.preempt import roster as t
from pool.engine.preempt.roster import Ints
from pool.engine.state import State


def copy_of(state: State, rows: Ints | None = None) -> State:
    """A copy of all rows, or of these."""
    if rows is None:
        return State(state.device.copy(), state.node.copy())
    return State(state.device.take(rows, axis=1), state.node.take(rows, axis=1))


def free(state: State, lines: Ints) -> None:
    """Give back the holds of these lines of a table. The rows must be settled afterwards."""
    np.add.at(state.node[s.CPU], lines[:, t.ROW], lines[:, t.CPU])
    np.add.at(state.node[s.HOST], lines[:, t.ROW], lines[:, t.HOST])
    cards = lines[lines[:, t.COLUMN] >= 0]
    at = (cards[:, t.ROW], cards[:, t.COLUMN])
    np.add.at(state.device[s.SHARE], at, cards[:, t.SHARE])
    np.add.at(state.device[s.MEMORY], at, cards[:, t.MEMORY])
    np.subtract.at(state.device[s.HELD], at, 1)
    np.subtract.at(state.device[s.MEDIA], at, cards[:, t.MEDIA])
    np.bitwise_and.at(state.device[s.SLICES], at, ~cards[:, t.SLICES])
    empty = state.device[s.HELD][at] == 0
    gone = (at[0][empty], at[1][empty])
    state.device[s.USE][gone] = s.IDLE
    state.device[s.TRUST][gone] = 0


def settled(fleet: Fleet, state: State, rows: Ints) -> State:
    """Derive what follows from the truth, for these rows."""
    if len(rows):
        s.settle(state, rows, fleet.kinds, fleet.tables)
    return state


def count(fleet: Fleet, task: TaskClass, state: State) -> Ints:
    """Replicas that each row of a settled state could hold."""
    kept, fleet.state = fleet.state, state
    try:
        return replicas_per_node(fleet, task)
    finally:
        fleet.state = kept
