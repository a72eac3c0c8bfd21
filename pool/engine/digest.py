"""A name for a fleet's content: equal content, equal name, whatever came first."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from pool.engine import state as s
from pool.engine.mix import order_of

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet


def digest(fleet: Fleet) -> str:
    """32 hex digits over nodes, what is free on them, who shares what, and the typical mix."""
    truth = fleet.state.device[s.USE : s.ROOM].copy()
    names = np.array(["", *fleet.trust])  # numbers are 1, 2, ... in order of insertion
    used, place = np.unique(names[truth[s.TRUST - s.USE]], return_inverse=True)
    truth[s.TRUST - s.USE] = place.reshape(truth.shape[1:])
    total = blake2b(_hardware(fleet), digest_size=16)
    cards = fleet.state.device[s.KIND] > 0
    total.update(truth[:, cards].tobytes())
    total.update(fleet.state.node[: s.FIRST_KIND].tobytes())
    total.update(repr((used.tolist(), _mix(fleet))).encode())
    if fleet.labelled:
        total.update(repr(fleet.labelled.content()).encode())
    return total.hexdigest()


def _hardware(fleet: Fleet) -> bytes:
    """A digest of the nodes themselves, kept until they change."""
    if fleet.described is None or fleet.described[0] != fleet.hardware:
        described = blake2b(digest_size=32)
        for node in fleet.nodes:
            described.update(repr(node).encode())
        fleet.described = (fleet.hardware, described.digest())
    return fleet.described[1]


def _mix(fleet: Fleet) -> list[str]:
    mix = fleet.mix
    classes = [repr((order_of(request), weight)) for request, weight in mix.classes]
    return [*classes, repr((mix.cpu_demand, mix.gpu_demand))]
