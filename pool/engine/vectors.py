"""Score vectors: what a class of requests scores on every node, renewed where nodes changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import state as s
from pool.engine.classes import TaskClass, compile_class
from pool.engine.fleet import MOST_VECTORS, Fleet
from pool.engine.kinds import isolation_for
from pool.engine.picks import NEVER
from pool.engine.rowscore import PlainClass, has_room, plain_class, row_score
from pool.engine.scoring import Scores, cpu_is_tight, score
from pool.engine.state import plain_row
from pool.engine.types import Policy, ReplicaRequest

Ints = NDArray[np.int64]


AT_ONCE: Final = 16  # rows from which arrays are quicker than plain numbers
LOOKED_AT: Final = 64  # rows whose sums are looked at in plain numbers


@dataclass(slots=True)
class ScoreVector:
    """The scores of one class, the position in the change log up to which they hold, and the
    sizes (of the largest node, and whether CPU is tight) that they are relative to. ``plain``: the
    class for scoring row by row, if it is one of those."""

    task: TaskClass
    plain: PlainClass | None
    policy: Policy
    scores: Scores
    position: int
    basis: tuple[tuple[int, int], bool]

    def copy(self) -> ScoreVector:
        """One whose scores can change without this one's changing."""
        old = self.scores
        fresh = Scores(old.key.copy(), old.change.copy(), old.column.copy(), old.start.copy())
        return ScoreVector(self.task, self.plain, self.policy, fresh, self.position, self.basis)


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
        vector = _made(fleet, compile_class(fleet, request, trust), policy)
    else:
        _renew(fleet, vector)
    fleet.vectors[key] = vector  # last used, last in the dictionary
    if len(fleet.vectors) > MOST_VECTORS:
        del fleet.vectors[next(iter(fleet.vectors))]
    return vector


def _made(fleet: Fleet, task: TaskClass, policy: Policy) -> ScoreVector:
    shape = (len(fleet.nodes), task.request.devices)
    key, change = np.full(shape[0], NEVER), np.zeros(shape[0], dtype=np.int64)
    scores = Scores(key, change, np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))
    vector = ScoreVector(task, plain_class(task), policy, scores, fleet.log.position, _basis(fleet, policy))
    _renew_many(fleet, vector, None)
    return vector


def _basis(fleet: Fleet, policy: Policy) -> tuple[tuple[int, int], bool]:
    return fleet.largest, cpu_is_tight(fleet, policy)


def _renew(fleet: Fleet, vector: ScoreVector) -> None:
    basis, since, now = _basis(fleet, vector.policy), vector.position, fleet.log.position
    if since == now and vector.basis == basis:
        return
    vector.position = now
    if vector.basis != basis:
        vector.basis = basis
        _renew_many(fleet, vector, None)
        return
    changed = fleet.log.since(since)
    if vector.plain is not None and len(changed) <= LOOKED_AT:
        _renew_plainly(fleet, vector, vector.plain, changed)
    else:
        _renew_many(fleet, vector, np.array(changed, dtype=np.int64))


def _renew_plainly(fleet: Fleet, vector: ScoreVector, one: PlainClass, changed: list[int]) -> None:
    scores, state, tight = vector.scores, fleet.state, vector.basis[1]
    known = state.plain
    able = [(at, row) for at in changed if has_room(one, row := known.get(at) or plain_row(state, at))]
    if len(able) > AT_ONCE:
        _renew_many(fleet, vector, np.array(changed, dtype=np.int64))
        return
    for at in changed:
        scores.key[at] = NEVER
    for at, row in able:
        found = row_score(fleet, one, vector.policy, tight, at, row)
        if found is None:
            continue
        scores.key[at], scores.change[at], columns, starts = found
        if one.devices:
            scores.column[at], scores.start[at] = columns, starts


def _renew_many(fleet: Fleet, vector: ScoreVector, rows: Ints | None) -> None:
    """Score these rows, or all of them: those that could hold the replica by their sums. The others
    cannot, and in a full pool nearly none can."""
    able = _roomy(fleet, vector.task, rows)
    if rows is None:
        vector.scores.key.fill(NEVER)
    else:
        vector.scores.key[rows] = NEVER
    if 2 * len(able) > len(fleet.nodes):
        vector.scores = score(fleet, vector.task, vector.policy)
    elif len(able):
        part = score(fleet, vector.task, vector.policy, able)
        vector.scores.key[able] = part.key
        vector.scores.change[able] = part.change
        vector.scores.column[able] = part.column
        vector.scores.start[able] = part.start


def _roomy(fleet: Fleet, task: TaskClass, rows: Ints | None) -> Ints:
    request, node = task.request, fleet.state.node
    if rows is not None:
        node = node.take(rows, axis=1)
    can = (node[s.CPU] >= request.cpu_milli) & (node[s.HOST] >= request.host_memory_mib) & (node[s.NODE_OPEN] == 1)
    if task.isolation in ("exclusive", "vgpu"):
        can &= node[s.FREE] >= request.devices * int(task.wants[0].share[0])
    able = can.nonzero()[0]
    found: Ints = able if rows is None else rows[able]
    return found
