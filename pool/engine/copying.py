"""A fleet beside another: the same hardware and content, its own from then on."""

from __future__ import annotations

from copy import copy

from pool.engine.changelog import ChangeLog
from pool.engine.fleet import Fleet
from pool.engine.labelled import Labelled
from pool.engine.state import State


def copy_of(fleet: Fleet) -> Fleet:
    """What is held and released in the copy leaves the fleet as it is; nodes must not be changed in it."""
    fleet.settle()
    other = copy(fleet)
    other.state = State(fleet.state.device.copy(), fleet.state.node.copy())
    other.labelled = Labelled()
    other.labelled.restore(*fleet.labelled.lines())
    other.trust = dict(fleet.trust)
    other.log = ChangeLog()
    other.vectors, other.kept_vectors = {}, {}
    other.reasons = (-1, {})
    return other
