"""Which node gets the next replica, when it is placed by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine import islands, neighbours
from pool.engine.picks import NEVER
from pool.engine.types import JobRequest

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet
    from pool.engine.vectors import ScoreVector

Bools = NDArray[np.bool_]


def best_row(fleet: Fleet, job: JobRequest, vector: ScoreVector, within: Bools | None = None) -> int | None:
    """The winning row (inside ``within``): required neighbours first, then the weight of the
    preferred ones, then the score with the rule of NVLink islands; None if no node can."""
    key = vector.scores.key
    if within is not None or neighbours.concerned(fleet, job):
        key = _limited(fleet, job, key, within)
    if not len(key):
        return None
    row = int(key.argmin())
    if key[row] == NEVER:
        return None
    if vector.task.isolation == "exclusive" and len(vector.task.wants) == 1 and islands.islands_of(fleet).any:
        return islands.best_row(fleet, vector, row, key)
    return row


def ranked(fleet: Fleet, job: JobRequest, vector: ScoreVector, most: int, within: Bools | None = None) -> list[int]:
    """The first ``most`` rows that can hold the replica, best first by score."""
    key = vector.scores.key
    if within is not None or neighbours.concerned(fleet, job):
        key = _limited(fleet, job, key, within)
    rows = np.argsort(key, kind="stable")[:most]
    return [int(row) for row in rows if key[row] != NEVER]


def _limited(fleet: Fleet, job: JobRequest, key: NDArray[np.int64], within: Bools | None) -> NDArray[np.int64]:
    """The key with what is ruled out at NEVER; of what is left, only the best liked."""
    inside = neighbours.allowed(fleet, job)
    if within is not None:
        inside &= within
    limited: NDArray[np.int64] = np.where(inside, key, NEVER)
    weight = neighbours.liking(fleet, job)
    can = limited != NEVER
    if weight is None or not can.any():
        return limited
    liked: NDArray[np.int64] = np.where(can & (weight == weight[can].max()), limited, NEVER)
    return liked
