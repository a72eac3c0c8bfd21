"""Placing a job without explaining anything: the inner step of every decision."""

from __future__ import annotations

from dataclasses import replace

from pool.engine.fleet import Fleet
from pool.engine.gang import place_gang
from pool.engine.placing import chosen_columns, first_score, replica_at
from pool.engine.rows import best_row
from pool.engine.types import JobRequest, Placed, Policy, RoleRequest
from pool.engine.vectors import vector_for


def try_place(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | RoleRequest:
    """The placement, or the role that found no place."""
    if any(len(role.request.preference) > 1 for role in job.roles):
        return _by_preference(fleet, job, policy)
    return _place(fleet, job, policy)


def _place(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | RoleRequest:
    role = job.roles[0]
    if len(job.roles) > 1 or role.replicas > 1 or job.required_topology_level or job.preferred_topology_level:
        return place_gang(fleet, job, policy)
    vector = vector_for(fleet, role.request, job.tenant, job.trust_group, policy)
    row = best_row(fleet, job, vector)
    if row is None:
        return role
    columns = chosen_columns(fleet, vector, row)
    replica = replica_at(fleet, vector, row, role.name, 0, columns)
    return Placed(job.key, (replica,), *first_score(fleet, vector, row, columns))


def _by_preference(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | RoleRequest:
    """The first rank of every role, then the second, and so on; at last, for what no single model
    or vendor holds, all of them together."""
    for rank in range(max(len(role.request.preference) for role in job.roles)):
        roles = tuple(_at_rank(role, rank) for role in job.roles)
        outcome = _place(fleet, replace(job, roles=roles), policy)
        if isinstance(outcome, Placed):
            chosen = tuple((role.name, role.request.preference[0]) for role in roles if role.request.preference)
            return replace(outcome, preference=chosen)
    return _place(fleet, job, policy)


def _at_rank(role: RoleRequest, rank: int) -> RoleRequest:
    ranks = role.request.preference
    if not ranks:
        return role
    return replace(role, request=replace(role.request, preference=(ranks[min(rank, len(ranks) - 1)],)))
