"""From stored jobs and accepted specifications to what the engine decides on."""

from collections.abc import Iterable

from pool.engine.types import JobRequest, ReplicaRequest, RoleRequest
from pool.scheduling.models import Job, JobRole
from pool.scheduling.spec import JobSpec, RoleSpec


def of_spec(spec: JobSpec, tenant: str, trust_group: str) -> JobRequest:
    """The engine's request of a specification that is not stored (dry run, checks at submit)."""
    roles = tuple(
        RoleRequest(role.name, _replica(role, role.models), role.replicas, role.min_replicas) for role in spec.roles
    )
    return JobRequest(key=0, tenant=tenant, trust_group=trust_group, roles=roles, min_member=spec.min_member)


def of_job(job: Job, roles: Iterable[JobRole]) -> JobRequest:
    """The engine's request of a stored job; `job.tenant` must be loaded."""
    return JobRequest(
        key=job.pk,
        tenant=job.tenant.public_id,
        trust_group=job.tenant.trust_key,
        roles=tuple(
            RoleRequest(role.name, _replica(role, role.models_allowed), role.replicas, role.min_replicas)
            for role in roles
        ),
        min_member=job.min_member,
    )


def _replica(role: RoleSpec | JobRole, models: Iterable[str]) -> ReplicaRequest:
    return ReplicaRequest(
        devices=role.devices,
        share_bp=role.share_bp,
        memory_mib=tuple(role.memory_mib),
        mig_profile=role.mig_profile,
        isolation=role.isolation,
        models=frozenset(models),
        cpu_milli=role.cpu_milli,
        host_memory_mib=role.host_memory_mib,
        bandwidth_sensitive=role.bandwidth_sensitive,
    )
