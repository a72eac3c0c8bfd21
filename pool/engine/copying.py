"""A fleet beside another: the same hardware and content, its own from then on."""

from __future__ import annotations

from copy import copy

from pool.engine.changelog import ChangeLog
from pool.engine.fleet import Fleet
from pool.engine.labelled import Labelled


def copy_of(fleet: Fleet) -> Fleet:
    """What is held and released in either leaves the other as it is; nodes must not be changed in the copy."""
    fleet.settle()
    other = copy(fleet)
    other.state = fleet.state.copy()
    other.nodes = list(fleet.nodes)
    other.labelled = Labelled()
    other.labelled.restore(*fleet.labelled.lines())
    other.trust = dict(fleet.trust)
    other.log = ChangeLog(len(fleet.nodes))
    other.vectors, other.kept_vectors = {}, {}
    other.reasons = {}
    return other
