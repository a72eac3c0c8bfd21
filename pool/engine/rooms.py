"""How much of a gang each node could hold, role by role, before anything is placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine import neighbours
from pool.engine import state as s
from pool.engine.capacity import replicas_per_node
from pool.engine.domains import domains_of
from pool.engine.levels import NODE
from pool.engine.members import need
from pool.engine.picks import NEVER
from pool.engine.types import WHOLE, JobRequest, Policy, RoleRequest
from pool.engine.vectors import vector_for

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet
    from pool.engine.vectors import ScoreVector

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Rooms:
    """A gang against a fleet: score vector and replicas by row of each role, by its name."""

    fleet: Fleet
    job: JobRequest
    vectors: Mapping[str, ScoreVector]
    by_row: Mapping[str, Ints]

    def at(self, level: int) -> dict[str, Ints]:
        """By role and domain of a level (no deeper than nodes), what it could hold."""
        domains = domains_of(self.fleet)
        return {name: domains.total(level, rooms) for name, rooms in self.by_row.items()}

    def jointly(self, level: int, whole: bool) -> NDArray[np.bool_]:
        """By domain, whether all roles together could find whole cards, compute, CPU and memory enough:
        a bound that spares gangs of several roles from being placed in vain. ``whole``: all
        replicas, else the roles' minimums."""
        state, domains = self.fleet.state, domains_of(self.fleet)
        enough = np.ones(domains.how_many(level), dtype=bool)
        if len(self.job.roles) < 2:
            return enough
        free = (
            (state.device[s.ROOM] == WHOLE).sum(axis=1),
            state.node[s.FREE],
            np.maximum(state.node[s.CPU], 0),
            np.maximum(state.node[s.HOST], 0),
        )
        asked = [self._asked(role) for role in self.job.roles]
        counts = [role.replicas if whole else role.min_replicas for role in self.job.roles]
        for at, by_row in enumerate(free):
            wanted = sum(each[at] * count for each, count in zip(asked, counts, strict=True))
            enough &= domains.total(level, by_row) >= wanted
        return enough

    def _asked(self, role: RoleRequest) -> tuple[int, int, int, int]:
        """Whole cards, compute (slices of a cut card aside), CPU and memory of one replica."""
        task, request = self.vectors[role.name].task, role.request
        parts = task.parts or (task,) * request.devices
        cards = sum(part.isolation == "exclusive" for part in parts)
        shares = sum(part.request.compute_bp for part in parts if part.isolation != "mig")
        return cards, shares, request.cpu_milli, request.host_memory_mib

    def short_role(self) -> RoleRequest | None:
        """A role that cannot have its part even if the other roles took nothing; a quick count
        that spares a big gang from being placed in vain."""
        total = 0
        for role in self.job.roles:
            fits = min(int(self.by_row[role.name].sum()), role.replicas)
            if fits < role.min_replicas:
                return role
            total += fits
        return self.job.roles[0] if total < need(self.job) else None


def rooms_of(fleet: Fleet, job: JobRequest, policy: Policy) -> Rooms:
    """Count the room for each role."""
    vectors = {role.name: vector_for(fleet, role.request, job.tenant, job.trust_group, policy) for role in job.roles}
    by_row = {name: replicas_per_node(fleet, vector.task) for name, vector in vectors.items()}
    if neighbours.concerned(fleet, job):
        inside = neighbours.allowed(fleet, job)
        by_row = {name: _spread_out(fleet, job, vectors[name], room * inside) for name, room in by_row.items()}
    return Rooms(fleet, job, vectors, by_row)


def _spread_out(fleet: Fleet, job: JobRequest, vector: ScoreVector, room: Ints) -> Ints:
    """The room left where a job's replicas repel each other: one a domain, on its best node."""
    own = [term for term in neighbours.repels_of(job) if neighbours.meets_itself(job, term)]
    if not own:
        return room
    widest = min(term.depth for term in own)
    room = np.minimum(room, 1)
    if widest == NODE:
        return room
    domains = domains_of(fleet)
    number, key = domains.number(widest), np.where(room > 0, vector.scores.key, NEVER)
    best = np.full(domains.how_many(widest), NEVER)
    np.minimum.at(best, number, key)
    apart: Ints = room * (key == best[number])
    return apart
