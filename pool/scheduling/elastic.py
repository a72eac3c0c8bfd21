"""Elastic gangs under limits: as many replicas as may be held, never fewer than must start together."""

from collections.abc import Iterable
from dataclasses import replace

from pool.engine.members import need
from pool.engine.types import JobRequest, ReplicaRequest, RoleRequest
from pool.scheduling.limits import Limit


def is_elastic(job: JobRequest) -> bool:
    """Whether it may start with fewer replicas than it would take."""
    return need(job) < sum(role.replicas for role in job.roles)


def least_share_bp(job: JobRequest) -> int:
    """Compute of the replicas that must start together, in basis points of a card; a MIG slice counts as a card."""
    counts = _minimum(job)
    return sum(counts[role.name] * _share_bp(role.request) for role in job.roles)


def within(job: JobRequest, limits: Iterable[Limit]) -> JobRequest:
    """The job with no more replicas than its tightest limit of compute lets it hold; its minimum always stays."""
    rooms = [left for limit in limits if limit.kind == "share_bp" and (left := limit.left()) is not None]
    if not rooms or not is_elastic(job):
        return job
    counts, spare = _minimum(job), min(rooms) - least_share_bp(job)
    for role in job.roles:
        share = _share_bp(role.request)
        more = role.replicas - counts[role.name]
        if share:
            more = min(more, max(0, spare) // share)
        counts[role.name] += more
        spare -= more * share
    return replace(job, roles=tuple(_of(role, counts[role.name]) for role in job.roles if counts[role.name]))


def _of(role: RoleRequest, replicas: int) -> RoleRequest:
    return role if role.replicas == replicas else replace(role, replicas=replicas)


def _minimum(job: JobRequest) -> dict[str, int]:
    """Each role's minimum, then more in the order of the roles, as the engine fills up."""
    counts = {role.name: role.min_replicas for role in job.roles}
    short = need(job) - sum(counts.values())
    for role in job.roles:
        more = min(role.replicas - role.min_replicas, max(0, short))
        counts[role.name] += more
        short -= more
    return counts


def _share_bp(request: ReplicaRequest) -> int:
    return sum(ask.devices * ask.compute_bp for ask in request.asks or (request,))
