"""How much of a pool's free capacity the typical work could not use."""

from __future__ import annotations

import numpy as np

from pool.engine import state as s
from pool.engine.fleet import Fleet
from pool.engine.mix import SCALE, MixTables, TypicalMix, compile_mix
from pool.engine.types import WHOLE

__all__ = ["TypicalMix", "fragmentation", "stranded"]


def fragmentation(fleet: Fleet, typical: TypicalMix | None = None) -> float:
    """Share of the open capacity, 0 to 1, that is free but of no use to a typical request.

    For each request of the mix that needs a GPU, take the free share on nodes (and cards) that
    it could not use: too small a rest on a card, too few whole cards, too little CPU, another
    model, no room for its MIG slice. The figure is the mean over those requests, weighted as in
    the mix, divided by the share of all open cards. 0: whatever is free serves everyone;
    a full pool has 0 too. ``typical`` None: the fleet's own mix.
    """
    free, usable, capacity = _sums(fleet, typical or fleet.mix)
    return max(free - usable, 0.0) / capacity if capacity else 0.0


def stranded(fleet: Fleet, typical: TypicalMix | None = None) -> float:
    """Share of the open capacity, 0 to 1, on cards whose rest not one request of the mix could
    use: too small for any. Right-sizing recovers it; moving work does not."""
    tables, state = _measured(fleet, typical or fleet.mix)
    device, node = state.device, state.node
    cards, board = s.bases(device, node, node[s.CPU], tables)
    whole = device[s.ROOM] == WHOLE
    several = tables.multi.take(board + whole.sum(axis=1)) > 0
    useless = (device[s.OPEN] == 1) & (s.value(device, cards, tables) == 0) & ~(whole & several[:, None])
    lost = int(np.maximum(device[s.SHARE], 0)[useless].sum())
    capacity = int(node[s.CARDS].sum())
    return lost / capacity if capacity else 0.0


def _measured(fleet: Fleet, mix: TypicalMix) -> tuple[MixTables, s.State]:
    fleet.settle()
    tables = compile_mix(mix, fleet.kinds, fleet.state.device.shape[2], cards=None)
    state = s.State(fleet.state.device.copy(), fleet.state.node.copy())
    s.settle(state, np.arange(state.node.shape[1]), fleet.kinds, tables)
    return tables, state


def _sums(fleet: Fleet, mix: TypicalMix) -> tuple[float, float, int]:
    """Free share, what a typical GPU request can use of it, and the capacity, all in bp."""
    _, state = _measured(fleet, mix)
    weight = sum(weight for request, weight in mix.classes if request.devices) / SCALE
    free, usable = float(state.node[s.FREE].sum()), float(state.node[s.USABLE].sum()) / SCALE
    capacity = int(state.node[s.CARDS].sum())
    return (free, usable / weight, capacity) if weight else (0.0, 0.0, capacity)
