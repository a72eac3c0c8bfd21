"""Score vectors: what a class of requests scores on every node, renewed where nodes changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass, compile_class
from pool.engine.fleet import MOST_VECTORS, Fleet
from pool.engine.kinds import isolation_for
from pool.engine.picks import NEVER
from pool.engine.scoring import Scores, cpu_is_tight, score
from pool.engine.types import Policy, ReplicaRequest

Ints = NDArray[np.int64]


@dataclass(slots=True)
class ScoreVector:
    """The scores of one class, the position in the change log up to which they hold, and the
    sizes (of the largest node, and whether CPU is tight) that they are relative to."""

    task: TaskClass
    policy: Policy
    scores: Scores
    position: int
    basis: tuple[tuple[int, int], bool]

    def copy(self) -> ScoreVector:
        """One whose scores can change without this one's changing."""
        old = self.scores
        fresh = Scores(old.key.copy(), old.change.copy(), old.column.copy(), old.start.copy())
        return ScoreVector(self.task, self.policy, fresh, self.position, self.basis)


def vector_for(fleet: Fleet, request: ReplicaRequest, tenant: str, trust_group: str, policy: Policy) -> ScoreVector:
    """The up-to-date score vector of a request. Only soft sharing asks who else is on a card,
    so only then does every trust group have a vector of its own."""
    shared = isolation_for(request, fleet.kinds.all) in ("vgpu", "unequal")
    trust = fleet.trust_number(tenant, trust_group) if shared else 0
    key = (request, trust, policy.bucket_bp, policy.cpu_tie_percent)
    fleet.settle()
    vector = fleet.vectors.pop(key, None)
    if vector is None and key in fleet.kept_vectors:
        vector = fleet.kept_vectors[key].copy()
    if vector is None:
        task = compile_class(fleet, request, trust)
        vector = ScoreVector(task, policy, score(fleet, task, policy), fleet.log.mark(), _basis(fleet, policy))
    _renew(fleet, vector)
    fleet.vectors[key] = vector  # last used, last in the dictionary
    if len(fleet.vectors) > MOST_VECTORS:
        del fleet.vectors[next(iter(fleet.vectors))]
    return vector


def _basis(fleet: Fleet, policy: Policy) -> tuple[tuple[int, int], bool]:
    return fleet.largest, cpu_is_tight(fleet, policy)


def _renew(fleet: Fleet, vector: ScoreVector) -> None:
    basis = _basis(fleet, vector.policy)
    if vector.position == fleet.log.mark() and vector.basis == basis:
        return
    changed = fleet.log.since(vector.position) if vector.basis == basis else None
    vector.position, vector.basis = fleet.log.mark(), basis
    if changed is None or len(changed) * 2 > len(fleet.nodes):
        vector.scores = score(fleet, vector.task, vector.policy)
        return
    rows = _roomy(fleet, vector, np.array(changed, dtype=np.int64))
    if not len(rows):
        return
    part = score(fleet, vector.task, vector.policy, rows)
    vector.scores.key[rows] = part.key
    vector.scores.change[rows] = part.change
    vector.scores.column[rows] = part.column
    vector.scores.start[rows] = part.start


def _roomy(fleet: Fleet, vector: ScoreVector, rows: Ints) -> Ints:
    """Of these rows, those that could hold the replica by their sums alone; the others cannot, and
    in a full pool nearly none can."""
    request, node = vector.task.request, fleet.state.node
    can = (node[s.CPU].take(rows) >= request.cpu_milli) & (node[s.HOST].take(rows) >= request.host_memory_mib)
    if vector.task.isolation in ("exclusive", "vgpu"):
        can &= node[s.FREE].take(rows) >= request.devices * int(vector.task.wants[0].share[0])
    vector.scores.key[rows[~can]] = NEVER
    able: Ints = rows[can]
    return able
