"""Bounded search for small gangs of unlike replicas, when placing them greedily failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import mig
from pool.engine import state as s
from pool.engine.bulk import Slot
from pool.engine.eligible import eligible
from pool.engine.fleet import Fleet, holds_of
from pool.engine.neighbours import repels_of
from pool.engine.placing import chosen_columns, replica_of
from pool.engine.rows import ranked
from pool.engine.types import JobRequest, Policy, RoleRequest
from pool.engine.vectors import ScoreVector, vector_for

MOST_REPLICAS: Final = 32  # a larger gang is not searched
MOST_ROWS: Final = 4  # nodes tried for each replica, best first

Bools = NDArray[np.bool_]


def search(
    fleet: Fleet, job: JobRequest, members: list[tuple[RoleRequest, int]], policy: Policy, trials: int, within: Bools
) -> tuple[list[tuple[str, Slot]], int]:
    """Place all members on the rows ``within``, depth first, in so many trials: role and slot of
    each, and the trials left. On success they stay held on the (scratch) fleet; else nothing is."""
    if len(members) > MOST_REPLICAS:
        return [], trials
    trial = _Search(fleet, job, members, policy, trials, within)
    return (trial.slots if trial.go(0) else []), trial.left


@dataclass(slots=True)
class _Search:
    fleet: Fleet
    job: JobRequest
    members: list[tuple[RoleRequest, int]]
    policy: Policy
    left: int
    within: Bools
    slots: list[tuple[str, Slot]] = field(default_factory=list)

    def go(self, depth: int) -> bool:
        """Whether the members from ``depth`` on could be placed."""
        if depth == len(self.members):
            return True
        role, rank = self.members[depth]
        fleet, job = self.fleet, self.job
        vector = vector_for(fleet, role.request, job.tenant, job.trust_group, self.policy).copy()
        for slot in self._options(vector):
            if self.left <= 0:
                return False
            self.left -= 1
            replica = replica_of(fleet, vector.task, slot.row, role.name, rank, slot.columns, slot.starts)
            holds = list(holds_of((replica,), job.tenant, job.trust_group, job.labels, repels_of(job)))
            for hold in holds:
                fleet.take(hold)
            self.slots.append((role.name, slot))
            if self.go(depth + 1):
                return True
            self.slots.pop()
            for hold in holds:
                fleet.release(hold)
        return False

    def _options(self, vector: ScoreVector) -> list[Slot]:
        """Ways to place one replica, best first: the best nodes, and for a single MIG slice every
        card and start on them."""
        found: list[Slot] = []
        for row in ranked(self.fleet, self.job, vector, MOST_ROWS, self.within):
            best = Slot(row, tuple(chosen_columns(self.fleet, vector, row)), tuple(vector.scores.start[row].tolist()))
            found.append(best)
            if vector.task.isolation == "mig" and vector.task.request.devices == 1:
                every = [Slot(row, (column,), (start,)) for column, start in _slots(self.fleet, vector, row)]
                found += [slot for slot in every if slot != best]
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
