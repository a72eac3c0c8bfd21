"""Some cards of a fleet as a fleet of their own: to place where something is reserved, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pool.engine.fleet import Fleet
from pool.engine.freezing import CARD_FIELDS, NODE_FIELDS
from pool.engine.types import NodeSpec


def part_of(fleet: Fleet, cards: Collection[int]) -> Fleet:
    """The nodes of these cards, in the state that they are in, with only these cards open. Cards that the fleet does
    not have are left out. It is a copy: what is placed in it is not placed in the fleet."""
    keys = sorted({fleet.place_of[card][0] for card in cards if card in fleet.place_of})
    rows = [fleet.row_of[key] for key in keys]
    small = Fleet.build([_only(fleet.nodes[row], cards) for row in rows], (), fleet.mix)
    columns = small.state.device.shape[2]
    small.state.device[CARD_FIELDS] = fleet.state.device[CARD_FIELDS][:, rows, :columns]
    small.state.node[NODE_FIELDS] = fleet.state.node[NODE_FIELDS][:, rows]
    small.trust, small.labelled = dict(fleet.trust), fleet.labelled
    small.touch(range(len(rows)))
    small.log.dirty.update(range(len(rows)))
    return small


def _only(node: NodeSpec, cards: Collection[int]) -> NodeSpec:
    devices = tuple(replace(card, schedulable=card.schedulable and card.key in cards) for card in node.devices)
    return replace(node, devices=devices)
