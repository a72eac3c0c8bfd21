"""What this hardware could never hold, asked when a job is submitted."""

from __future__ import annotations

from dataclasses import replace

from pool.engine.capacity import replicas_per_node
from pool.engine.changes import smallest_changes
from pool.engine.classes import compile_class
from pool.engine.fleet import Fleet
from pool.engine.funnel import funnel
from pool.engine.neighbours import meets_itself, repels_of
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, JobRequest, Placed, Policy, Refused

MOST_VERDICTS = 4096


def never_fits(fleet: Fleet, job: JobRequest, policy: Policy = DEFAULT) -> Refused | None:
    """A refusal if the job would not fit even with every card free and open: a gang larger than
    the fleet, more memory than any card has, a MIG profile or model that no card has. None if
    it could run one day."""
    twin, job = empty_twin(fleet), _alone(job)
    outcome = try_place(twin, job, policy)
    if isinstance(outcome, Placed):
        return None
    return Refused(
        job_key=job.key,
        failed=funnel(twin, compile_class(twin, outcome.request, 0)),
        changes=smallest_changes(twin, job, outcome, policy) if policy.explain else (),
        never=True,
        role=outcome.name,
    )


def could_never(fleet: Fleet, job: JobRequest, policy: Policy) -> bool:
    """Whether :func:`never_fits` would refuse; remembered while the hardware stays as it is."""
    twin, job = empty_twin(fleet), _alone(job)
    levels = (job.required_topology_level, job.preferred_topology_level)
    key = (job.roles, job.min_member, levels, job.labels if job.affinity else (), job.affinity)
    if key not in twin.verdicts:
        if len(twin.verdicts) >= MOST_VERDICTS:
            twin.verdicts.clear()
        twin.verdicts[key] = not _holds(twin, job, policy)
    return twin.verdicts[key]


def _holds(twin: Fleet, job: JobRequest, policy: Policy) -> bool:
    """Whether the empty fleet holds a job. For one replica of like devices counting says so."""
    role = job.roles[0]
    alone = len(job.roles) == 1 and role.replicas == 1 and not role.request.asks
    levels = job.required_topology_level or job.preferred_topology_level
    if alone and not levels and not job.affinity and not role.request.preference and len(role.request.memory_mib) < 2:
        twin.settle()
        task = compile_class(twin, role.request, twin.trust_number(job.tenant, job.trust_group))
        return bool(replicas_per_node(twin, task).any())
    return isinstance(try_place(twin, job, policy), Placed)


def _alone(job: JobRequest) -> JobRequest:
    """The job without what it asks of other jobs: those come and go. How its own replicas repel
    each other stays."""
    if not job.affinity:
        return job
    return replace(job, affinity=tuple(term for term in repels_of(job) if meets_itself(job, term)))


def empty_twin(fleet: Fleet) -> Fleet:
    """The same hardware with nothing held and everything open."""
    if fleet.twin is None or fleet.twin[0] != fleet.hardware:
        fleet.twin = (fleet.hardware, fleet.emptied())
    return fleet.twin[1]
