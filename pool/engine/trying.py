"""Placing a job without explaining anything: the inner step of every decision."""

from __future__ import annotations

from pool.engine.fleet import Fleet
from pool.engine.gang import place_gang
from pool.engine.placing import first_score, replica_at
from pool.engine.types import JobRequest, Placed, Policy, RoleRequest
from pool.engine.vectors import vector_for


def try_place(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | RoleRequest:
    """The placement, or the role that found no place."""
    role = job.roles[0]
    if len(job.roles) > 1 or role.replicas > 1:
        return place_gang(fleet, job, policy)
    vector = vector_for(fleet, role.request, job.tenant, job.trust_group, policy)
    row = vector.best()
    if row is None:
        return role
    replica = replica_at(fleet, vector, row, role.name, 0)
    return Placed(job.key, (replica,), *first_score(fleet, vector, row))
