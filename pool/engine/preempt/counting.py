"""How often the replica of a job fits, by node, when pieces go. Only for gangs of like replicas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pool.engine.classes import TaskClass, compile_class
from pool.engine.domains import domains_of
from pool.engine.levels import ISLAND, depth
from pool.engine.preempt import roster as t
from pool.engine.preempt.case import Case
from pool.engine.preempt.freeing import copy_of, count, free, settled
from pool.engine.preempt.roster import Ints
from pool.engine.state import State
from pool.engine.types import JobRequest


@dataclass(slots=True)
class Counting:
    """``base`` is the settled state as it is, ``now`` what fits in it, ``domain`` the number of the
    required topology domain of each row, ``need`` the replicas that must fit in one domain."""

    case: Case
    task: TaskClass
    base: State
    now: Ints
    domain: Ints
    need: int

    @staticmethod
    def of(case: Case) -> Counting | None:
        """None if counting does not say whether the job fits."""
        job, fleet = case.job, case.fleet
        if not alike(job):
            return None
        fleet.settle()
        trust = fleet.trust_number(job.tenant, job.trust_group)
        task = compile_class(fleet, job.roles[0].request, trust)
        if len(task.wants) != 1 or task.parts:
            return None
        level = depth(job.required_topology_level)
        domain = domains_of(fleet).number(level).copy()
        return Counting(case, task, fleet.state, count(fleet, task, fleet.state), domain, need(job))

    def without(self, rows: Ints, lines: Ints) -> Ints:
        """What fits on these rows (ascending) if these holds go; other rows' holds are ignored."""
        state = copy_of(self.base, rows)
        mine = lines[np.isin(lines[:, t.ROW], rows)].copy()
        mine[:, t.ROW] = np.searchsorted(rows, mine[:, t.ROW])
        free(state, mine)
        settled(self.case.fleet, state, np.unique(mine[:, t.ROW]))
        return count(self.case.fleet, self.task, state)

    def after(self, lines: Ints) -> Ints:
        """What fits on every row if these holds go."""
        fits, rows = self.now.copy(), np.unique(lines[:, t.ROW])
        if len(rows):
            fits[rows] = self.without(rows, lines)
        return fits

    def by_domain(self, fits: Ints) -> Ints:
        """Replicas by number of the domain."""
        return np.bincount(self.domain, weights=fits).astype(np.int64)

    def enough(self, fits: Ints) -> bool:
        """Whether some domain holds the job."""
        return bool(len(fits)) and int(self.by_domain(fits).max()) >= self.need


def alike(job: JobRequest) -> bool:
    """Whether a job is a number of like replicas whose place depends on nothing but what is free
    and at most on one topology domain."""
    request = job.roles[0].request
    wishes = job.affinity or request.preference or depth(job.required_topology_level) >= ISLAND
    return len(job.roles) == 1 and not wishes


def need(job: JobRequest) -> int:
    """Replicas that must start together."""
    return max(1, job.min_member, sum(role.min_replicas for role in job.roles))
