"""A fleet as plain data, and back: what is held, without who holds it.

Nodes are described once and change seldom; what is held on them changes all the time. So the nodes travel as they are,
and what is held as the arrays themselves, which costs a copy instead of a walk over every hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pool.engine import state as s
from pool.engine.fleet import Fleet
from pool.engine.labelled import Carried, Repelled
from pool.engine.mix import TypicalMix
from pool.engine.types import NodeSpec

CARD_FIELDS = slice(s.USE, s.ROOM)
NODE_FIELDS = slice(s.CPU, s.NODE_OPEN)


@dataclass(frozen=True, slots=True)
class Frozen:
    """``cards``: int64 of each field USE to HELD, node and column; ``nodes``: free CPU and memory of each node;
    nodes by key. ``trust``: names by number, from 1. The rest: what work with labels is where (labelled.py)."""

    columns: int
    cards: bytes
    nodes: bytes
    trust: tuple[str, ...]
    carried: tuple[Carried, ...] = ()
    repelled: tuple[Repelled, ...] = ()


def freeze(fleet: Fleet) -> Frozen:
    """What is held now."""
    carried, repelled = fleet.labelled.lines()
    return Frozen(
        columns=fleet.state.device.shape[2],
        cards=fleet.state.device[CARD_FIELDS].tobytes(),
        nodes=fleet.state.node[NODE_FIELDS].tobytes(),
        trust=tuple(fleet.trust),
        carried=carried,
        repelled=repelled,
    )


def thaw(nodes: Sequence[NodeSpec], mix: TypicalMix, frozen: Frozen) -> Fleet:
    """A fleet that decides as the frozen one did. ValueError if that was of other nodes."""
    fleet = Fleet.build(nodes, (), mix)
    rows, columns = fleet.state.device.shape[1:]
    cards = np.frombuffer(frozen.cards, dtype=np.int64)
    free = np.frombuffer(frozen.nodes, dtype=np.int64)
    fields = CARD_FIELDS.stop - CARD_FIELDS.start
    if columns > frozen.columns or cards.size != fields * rows * frozen.columns:
        raise ValueError(f"frozen: {cards.size} numbers are not those of {rows} nodes of {columns} cards")
    # the arrays never shrink with the widest node: beyond it they are padding
    fleet.state.device[CARD_FIELDS] = cards.reshape(fields, rows, frozen.columns)[:, :, :columns]
    fleet.state.node[NODE_FIELDS] = free.reshape(NODE_FIELDS.stop - NODE_FIELDS.start, rows)
    fleet.trust = {name: number for number, name in enumerate(frozen.trust, 1)}
    fleet.labelled.restore(frozen.carried, frozen.repelled)
    fleet.state.plain.clear()
    fleet.touch(range(rows))
    return fleet
