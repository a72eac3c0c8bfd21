"""Gangs: all of the minimum or nothing, then more as long as it fits."""

from __future__ import annotations

from dataclasses import dataclass, field

from pool.engine.backtrack import search
from pool.engine.capacity import replicas_per_node
from pool.engine.fleet import Fleet, holds_of
from pool.engine.kinds import Kind, isolation_for, profile_for
from pool.engine.placing import first_score, replica_at
from pool.engine.types import (
    JobRequest,
    Placed,
    Policy,
    ReplicaPlacement,
    ReplicaRequest,
    RoleRequest,
    ScoreParts,
)
from pool.engine.vectors import vector_for

Sequence = list[tuple[RoleRequest, int]]


def place_gang(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | RoleRequest:
    """A placement of the whole minimum, or the role that could not be filled."""
    short = short_role(fleet, job, policy)
    if short is not None:
        return short
    with fleet.scratch():
        gang = _Gang(fleet, job, policy)
        failed = gang.place_minimum()
        if failed is None:
            gang.place_rest()
            return gang.placed()
    found = _search(fleet, job, policy)
    return failed if found is None else found


def need(job: JobRequest) -> int:
    """Replicas that must start together."""
    return max(1, job.min_member, sum(role.min_replicas for role in job.roles))


def short_role(fleet: Fleet, job: JobRequest, policy: Policy) -> RoleRequest | None:
    """A role that cannot have its part even if the other roles took nothing; a quick count
    that spares a big gang from being placed in vain."""
    total = 0
    for role in job.roles:
        vector = vector_for(fleet, role.request, job.tenant, job.trust_group, policy)
        fits = min(int(replicas_per_node(fleet, vector.task).sum()), role.replicas)
        if fits < role.min_replicas:
            return role
        total += fits
    return job.roles[0] if total < need(job) else None


def minimum(fleet: Fleet, job: JobRequest) -> Sequence:
    """The replicas that must start together: each role's minimum, the hardest role first, then
    more in the order of the roles until ``min_member`` is reached."""
    hardest = sorted(job.roles, key=lambda role: (_ease(fleet, role), job.roles.index(role)))
    members = [(role, rank) for role in hardest for rank in range(role.min_replicas)]
    for role in job.roles:
        more = min(role.replicas - role.min_replicas, need(job) - len(members))
        members += [(role, role.min_replicas + extra) for extra in range(max(more, 0))]
    return members


def _ease(fleet: Fleet, role: RoleRequest) -> tuple[int, int, int]:
    """Smaller is harder: more compute, then more memory, then more CPU."""
    request = role.request
    share, memory = request.share_bp, max(request.memory_mib, default=0)
    if isolation_for(request, fleet.kinds.all) == "mig":
        share, memory = max((_slice(request, kind) for kind in fleet.kinds.all), default=(0, 0))
    return -request.devices * share, -memory, -request.cpu_milli


def _slice(request: ReplicaRequest, kind: Kind) -> tuple[int, int]:
    """Compute share and memory slices of the MIG profile that this kind of card would give."""
    index = profile_for(request, 0, kind)
    if kind.family is None or index < 0:
        return 0, 0
    profile = kind.family.profiles[index]
    return kind.family.share_bp(profile), profile.units


def _search(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | None:
    """Unlike replicas can stand in each other's way: try other places before refusing."""
    if len({role.request for role in job.roles}) < 2:
        return None
    with fleet.scratch():
        found = search(fleet, job, minimum(fleet, job), policy)
        if found is None:
            return None
        gang = _Gang(fleet, job, policy)
        gang.adopt(*found)
        gang.place_rest()
        return gang.placed()


@dataclass(slots=True)
class _Gang:
    """A gang being placed on a scratch copy of the fleet."""

    fleet: Fleet
    job: JobRequest
    policy: Policy
    replicas: list[ReplicaPlacement] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=dict)
    first: tuple[ScoreParts, ScoreParts | None, int] | None = None

    def place_minimum(self) -> RoleRequest | None:
        """Each role's minimum, then up to ``min_member``; the role that failed, if any."""
        for role, _ in minimum(self.fleet, self.job):
            if self._place(role):
                continue
            if self.count.get(role.name, 0) < role.min_replicas:
                return role
        for role in self.job.roles:  # another role may stand in for one that ran out of room
            while len(self.replicas) < need(self.job) and self._more(role):
                pass
        return self.job.roles[0] if len(self.replicas) < need(self.job) else None

    def place_rest(self) -> None:
        """Whatever fits beyond the minimum, in the order of the roles."""
        for role in self.job.roles:
            while self._more(role):
                pass

    def adopt(
        self,
        replicas: list[ReplicaPlacement],
        first: tuple[ScoreParts, ScoreParts | None, int],
    ) -> None:
        """Go on from replicas that are held already."""
        self.replicas, self.first = list(replicas), first
        for replica in replicas:
            self.count[replica.role] = self.count.get(replica.role, 0) + 1

    def placed(self) -> Placed:
        """The decision, replicas in the order of roles and ranks."""
        if self.first is None:
            raise AssertionError("a gang of nothing was placed")
        order = {role.name: place for place, role in enumerate(self.job.roles)}
        replicas = sorted(self.replicas, key=lambda r: (order[r.role], r.rank))
        winner, runner_up, considered = self.first
        return Placed(self.job.key, tuple(replicas), winner, runner_up, considered)

    def _more(self, role: RoleRequest) -> bool:
        return self.count.get(role.name, 0) < role.replicas and self._place(role)

    def _place(self, role: RoleRequest) -> bool:
        job, fleet = self.job, self.fleet
        vector = vector_for(fleet, role.request, job.tenant, job.trust_group, self.policy)
        row = vector.best()
        if row is None:
            return False
        if self.first is None:
            self.first = first_score(fleet, vector, row)
        rank = self.count.get(role.name, 0)
        replica = replica_at(fleet, vector, row, role.name, rank)
        for hold in holds_of((replica,), job.tenant, job.trust_group):
            fleet.take(hold)
        self.replicas.append(replica)
        self.count[role.name] = rank + 1
        return True
