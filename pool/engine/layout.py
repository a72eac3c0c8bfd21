"""Putting a node into its row of the arrays, and making or taking away rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pool.engine import state as s
from pool.engine.kinds import Kinds
from pool.engine.labelsets import LabelSets
from pool.engine.state import State
from pool.engine.types import WHOLE, NodeSpec


def load_node(state: State, row: int, node: NodeSpec, kinds: Kinds, labels: LabelSets) -> None:
    """Write an empty node into a blank row."""
    for column, device in enumerate(node.devices):
        cell = state.device[:, row, column]
        cell[s.KIND] = kinds.number(device)
        cell[s.LABEL] = labels.number(node, device)
        cell[s.OPEN] = node.schedulable and device.schedulable
        cell[s.SHARE] = WHOLE
        cell[s.MEMORY] = device.memory_mib
    cells = state.node[:, row]
    cells[s.CPU] = cells[s.CPU_TOTAL] = node.cpu_milli
    cells[s.HOST] = node.memory_mib
    cells[s.NODE_OPEN] = node.schedulable
    cells[s.FIRST_KIND] = kinds.number(node.devices[0]) if node.devices else 0


def emptied(state: State, nodes: Sequence[NodeSpec], kinds: Kinds) -> State:
    """The same nodes with nothing held and everything open."""
    old, fresh = state, State.empty(*state.device.shape[1:])
    kind = old.device[s.KIND]
    cards = kind > 0
    fresh.device[s.KIND], fresh.device[s.LABEL] = kind, old.device[s.LABEL]
    fresh.device[s.OPEN], fresh.device[s.SHARE] = cards, cards * WHOLE
    fresh.device[s.MEMORY] = cards * kinds.memory.take(kind)
    fresh.node[s.CPU] = fresh.node[s.CPU_TOTAL] = old.node[s.CPU_TOTAL]
    fresh.node[s.HOST] = [node.memory_mib for node in nodes]
    fresh.node[s.NODE_OPEN], fresh.node[s.FIRST_KIND] = 1, old.node[s.FIRST_KIND]
    return fresh


def with_row(state: State, row: int, columns: int, replaced: bool = False) -> State:
    """The arrays with a blank row at ``row``, inserted or in place of the old one, wide enough
    for ``columns`` cards."""
    device, node = state.device, state.node
    if not replaced:
        device = np.insert(device, row, 0, axis=1)
        node = np.insert(node, row, 0, axis=1)
    missing = columns - device.shape[2]
    if missing > 0:
        device = np.pad(device, ((0, 0), (0, 0), (0, missing)))
    device[:, row] = 0
    node[:, row] = 0
    return State(device, node)


def without_row(state: State, row: int) -> State:
    """The arrays less one row."""
    return State(np.delete(state.device, row, axis=1), np.delete(state.node, row, axis=1))
