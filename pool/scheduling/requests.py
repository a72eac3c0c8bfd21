"""From accepted specifications to what the engine decides on (stored jobs: see waiting.py)."""

from pool.engine.types import JobRequest, ReplicaRequest, RoleRequest
from pool.scheduling.spec import JobSpec, RoleSpec


def of_spec(spec: JobSpec, tenant: str, trust_group: str) -> JobRequest:
    """The engine's request of a specification that is not stored (dry run, checks at submit)."""
    roles = tuple(RoleRequest(role.name, _replica(role), role.replicas, role.min_replicas) for role in spec.roles)
    return JobRequest(key=0, tenant=tenant, trust_group=trust_group, roles=roles, min_member=spec.min_member)


def _replica(role: RoleSpec) -> ReplicaRequest:
    return ReplicaRequest(
        devices=role.devices,
        share_bp=role.share_bp,
        memory_mib=tuple(role.memory_mib),
        mig_profile=role.mig_profile,
        isolation=role.isolation,
        models=frozenset(role.models),
        cpu_milli=role.cpu_milli,
        host_memory_mib=role.host_memory_mib,
        bandwidth_sensitive=role.bandwidth_sensitive,
    )
