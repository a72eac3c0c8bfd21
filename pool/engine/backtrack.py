"""Bounded search for small gangs of unlike replicas, when placing them greedily failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pool.engine import mig
from pool.engine import state as s
from pool.engine.eligible import eligible
from pool.engine.fleet import Fleet, holds_of
from pool.engine.placing import first_score, replica_at
from pool.engine.types import JobRequest, Policy, ReplicaPlacement, RoleRequest, ScoreParts
from pool.engine.vectors import ScoreVector, vector_for

MOST_REPLICAS: Final = 32  # a larger gang is not searched
MOST_ROWS: Final = 4  # nodes tried for each replica, best first

First = tuple[ScoreParts, ScoreParts | None, int]
Option = tuple[int, list[int] | None, list[int] | None]  # row, columns, MIG starts


def search(
    fleet: Fleet, job: JobRequest, members: list[tuple[RoleRequest, int]], policy: Policy
) -> tuple[list[ReplicaPlacement], First] | None:
    """Place all members, depth first, within ``policy.backtrack_limit`` trials. On success
    they stay held on the (scratch) fleet; otherwise nothing is held."""
    if len(members) > MOST_REPLICAS:
        return None
    trial = _Search(fleet, job, members, policy, policy.backtrack_limit)
    if not trial.go(0) or trial.first is None:
        return None
    return trial.replicas, trial.first


@dataclass(slots=True)
class _Search:
    fleet: Fleet
    job: JobRequest
    members: list[tuple[RoleRequest, int]]
    policy: Policy
    left: int
    replicas: list[ReplicaPlacement] = field(default_factory=list)
    first: First | None = None

    def go(self, depth: int) -> bool:
        """Whether the members from ``depth`` on could be placed."""
        if depth == len(self.members):
            return True
        role, rank = self.members[depth]
        fleet, job = self.fleet, self.job
        vector = vector_for(fleet, role.request, job.tenant, job.trust_group, self.policy).copy()
        for row, columns, starts in options(fleet, vector):
            if self.left <= 0:
                return False
            self.left -= 1
            if depth == 0:
                self.first = first_score(fleet, vector, row)
            replica = replica_at(fleet, vector, row, role.name, rank, columns, starts)
            holds = list(holds_of((replica,), job.tenant, job.trust_group))
            for hold in holds:
                fleet.take(hold)
            self.replicas.append(replica)
            if self.go(depth + 1):
                return True
            self.replicas.pop()
            for hold in holds:
                fleet.release(hold)
        return False


def options(fleet: Fleet, vector: ScoreVector) -> list[Option]:
    """Ways to place one replica, best first: the best nodes, and for a single MIG slice every
    card and start on them."""
    found: list[Option] = []
    for row in vector.ranked(MOST_ROWS):
        found.append((row, None, None))
        if vector.task.isolation == "mig" and vector.task.request.devices == 1:
            best = (int(vector.scores.column[row, 0]), int(vector.scores.start[row, 0]))
            found += [
                (row, [column], [start]) for column, start in _slots(fleet, vector, row) if (column, start) != best
            ]
    return found


def _slots(fleet: Fleet, vector: ScoreVector, row: int) -> list[tuple[int, int]]:
    task, want = vector.task, vector.task.wants[0]
    device = fleet.state.device[:, row : row + 1]
    slots: list[tuple[int, int]] = []
    for column in eligible(device, task, want)[0].nonzero()[0].tolist():
        kind = int(device[s.KIND, 0, column])
        family = fleet.kinds.all[kind].family
        if family is None:
            continue
        profile = family.profiles[int(want.profile[kind])]
        taken = int(device[s.SLICES, 0, column])
        slots += [(column, start) for start in profile.starts if not taken & mig.mask(start, profile.units)]
    return slots
