"""The decision: where a job goes, or why it goes nowhere.

``decide`` changes nothing that can be seen: whoever calls it applies the decision with
:meth:`Fleet.apply` once it is durable. The same fleet content, job and policy give the same
answer, whatever happened before.
"""

from __future__ import annotations

from pool.engine import neighbours
from pool.engine.changes import smallest_changes
from pool.engine.classes import compile_class
from pool.engine.fleet import Fleet
from pool.engine.funnel import funnel
from pool.engine.refusals import kept_funnel
from pool.engine.rooms import rooms_of
from pool.engine.search_order import level_counts
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, FilterCount, JobRequest, Placed, Policy, Refused, ReplicaRequest
from pool.engine.validate import could_never


def decide(fleet: Fleet, job: JobRequest, policy: Policy = DEFAULT) -> Placed | Refused:
    """All of a job's minimum (and as much beyond it as fits), or a reasoned refusal."""
    outcome = try_place(fleet, job, policy)
    if isinstance(outcome, Placed):
        return outcome
    rooms = rooms_of(fleet, job, policy) if job.required_topology_level else None
    return Refused(
        job_key=job.key,
        failed=_failed(fleet, job, outcome.request, rooms is not None and rooms.short_role() is None),
        changes=smallest_changes(fleet, job, outcome, policy) if policy.explain else (),
        never=could_never(fleet, job, policy),
        role=outcome.name,
        levels=level_counts(rooms) if rooms is not None else (),
    )


def _failed(fleet: Fleet, job: JobRequest, request: ReplicaRequest, scattered: bool) -> tuple[FilterCount, ...]:
    """The funnel, kept from one refusal to the next for jobs that no neighbour concerns."""
    trust = fleet.trust_number(job.tenant, job.trust_group)
    if not neighbours.concerned(fleet, job):
        return kept_funnel(fleet, request, trust, scattered)
    return funnel(fleet, compile_class(fleet, request, trust), neighbours.allowed(fleet, job), scattered)
