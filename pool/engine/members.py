"""Who of a gang must start together, and in which order its roles are placed."""

from __future__ import annotations

from pool.engine.fleet import Fleet
from pool.engine.kinds import Kind, isolation_for, profile_for
from pool.engine.types import JobRequest, ReplicaRequest, RoleRequest


def need(job: JobRequest) -> int:
    """Replicas that must start together."""
    return max(1, job.min_member, sum(role.min_replicas for role in job.roles))


def hardest_first(fleet: Fleet, job: JobRequest) -> list[RoleRequest]:
    """The roles, those that ask for most first."""
    if len(job.roles) == 1:
        return list(job.roles)
    return sorted(job.roles, key=lambda role: (_ease(fleet, role.request), job.roles.index(role)))


def minimum(fleet: Fleet, job: JobRequest) -> list[tuple[RoleRequest, int]]:
    """The replicas that must start together: each role's minimum, the hardest role first, then
    more in the order of the roles until ``min_member`` is reached."""
    members = [(role, rank) for role in hardest_first(fleet, job) for rank in range(role.min_replicas)]
    for role in job.roles:
        more = min(role.replicas - role.min_replicas, need(job) - len(members))
        members += [(role, role.min_replicas + extra) for extra in range(max(more, 0))]
    return members


def _ease(fleet: Fleet, request: ReplicaRequest) -> tuple[int, int, int]:
    """Smaller is harder: more compute, then more memory, then more CPU."""
    asks = [_asked(fleet, ask) for ask in request.asks or (request,)]
    return -sum(share for share, _ in asks), -max(memory for _, memory in asks), -request.cpu_milli


def _asked(fleet: Fleet, request: ReplicaRequest) -> tuple[int, int]:
    """Compute of all devices, and memory of the largest (MiB, or slices where it is cut)."""
    share, memory = request.compute_bp, max(request.memory_mib, default=0)
    if isolation_for(request, fleet.kinds.all) == "mig":
        share, memory = max((_slice(request, kind) for kind in fleet.kinds.all), default=(0, 0))
    return request.devices * share, memory


def _slice(request: ReplicaRequest, kind: Kind) -> tuple[int, int]:
    """Compute share and memory slices of the MIG profile that this kind of card would give."""
    index = profile_for(request, 0, kind)
    if kind.family is None or index < 0:
        return 0, 0
    profile = kind.family.profiles[index]
    return kind.family.share_bp(profile), profile.units
