"""What the engine decides on: from accepted specifications, and from stored jobs (waiting.py)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pool.engine.affinity import Affinity
from pool.engine.selectors import Labels, Requirement, Selector
from pool.engine.types import JobRequest, ReplicaRequest, RoleRequest, Step
from pool.scheduling.spec import JobSpec, RoleSpec, job_wishes, role_wishes

Wishes = Mapping[str, Any]


def of_spec(spec: JobSpec, tenant: str, trust_group: str) -> JobRequest:
    """The engine's request of a specification that is not stored (dry run, checks at submit)."""
    roles = tuple(_of_role(role) for role in spec.roles)
    return of_job(0, tenant, trust_group, roles, spec.min_member, spec.labels, job_wishes(spec))


def of_job(
    key: int,
    tenant: str,
    trust_group: str,
    roles: tuple[RoleRequest, ...],
    min_member: int,
    labels: Mapping[str, str],
    wishes: Wishes,
) -> JobRequest:
    """`wishes`: as stored with the job (spec.job_wishes)."""
    named = labels_of(labels) if labels else ()
    if not wishes:
        return JobRequest(key, tenant, trust_group, roles, min_member, labels=named)
    return JobRequest(
        key=key,
        tenant=tenant,
        trust_group=trust_group,
        roles=roles,
        min_member=min_member,
        required_topology_level=wishes.get("required_topology_level", ""),
        preferred_topology_level=wishes.get("preferred_topology_level", ""),
        labels=named,
        affinity=affinity_of(wishes),
        step=_step(wishes["step"]) if "step" in wishes else Step(),
    )


def of_role(name: str, request: ReplicaRequest, most: int, least: int, wishes: Wishes) -> RoleRequest:
    """`most`: the engine fills up to it; `request` already has what `wishes` say of devices (of_replica)."""
    return RoleRequest(
        name,
        request,
        most,
        least,
        wishes.get("required_topology_level", ""),
        wishes.get("preferred_topology_level", ""),
    )


def of_replica(
    devices: int,
    share_bp: int,
    memory_mib: Sequence[int],
    mig_profile: str,
    isolation: str,
    models: Iterable[str],
    cpu_milli: int,
    host_memory_mib: int,
    bandwidth_sensitive: bool,
    wishes: Wishes,
) -> ReplicaRequest:
    """One replica: plain resources, and `wishes` as stored with the role (spec.role_wishes)."""
    if "devices" in wishes:
        asks = tuple(_of_ask(ask) for ask in wishes["devices"])
        return ReplicaRequest(devices, cpu_milli=cpu_milli, host_memory_mib=host_memory_mib, asks=asks)
    return ReplicaRequest(
        devices=devices,
        share_bp=share_bp,
        memory_mib=tuple(memory_mib),
        mig_profile=mig_profile,
        isolation=isolation,
        models=frozenset(models),
        cpu_milli=cpu_milli,
        host_memory_mib=host_memory_mib,
        bandwidth_sensitive=bandwidth_sensitive,
        **(_conditions(wishes) if wishes else {}),
    )


def affinity_of(wishes: Wishes) -> tuple[Affinity, ...]:
    """Attractions and repulsions."""
    terms = [(term, False) for term in wishes.get("affinity", ())]
    terms += [(term, True) for term in wishes.get("anti_affinity", ())]
    return tuple(
        Affinity(_selector(term["job_labels"]), term["level"], anti, term["required"], term.get("weight", 1))
        for term, anti in terms
    )


def repels_of_wishes(wishes: Wishes) -> tuple[Affinity, ...]:
    """What a job that has these keeps away while it lives."""
    if "anti_affinity" not in wishes:
        return ()
    return tuple(term for term in affinity_of(wishes) if term.anti and term.required)


def labels_of(labels: Mapping[str, str]) -> Labels:
    """Labels as the engine wants them: sorted by key."""
    return tuple(sorted(labels.items()))


def _of_role(role: RoleSpec) -> RoleRequest:
    wishes = role_wishes(role)
    request = of_replica(
        role.devices,
        role.share_bp,
        role.memory_mib,
        role.mig_profile,
        role.isolation,
        role.models,
        role.cpu_milli,
        role.host_memory_mib,
        role.bandwidth_sensitive,
        wishes,
    )
    return of_role(role.name, request, role.max_replicas, role.min_replicas, wishes)


def _of_ask(ask: Wishes) -> ReplicaRequest:
    memory = ask.get("gpu_memory_mib", [])
    share = ask.get("gpu_fraction")
    return ReplicaRequest(
        devices=ask["gpus"],
        share_bp=round(float(share) * 10_000) if share else 10_000,
        memory_mib=tuple(memory) if isinstance(memory, list) else (memory,),
        mig_profile=ask.get("mig_profile", ""),
        isolation=ask["isolation"],
        models=frozenset(ask["models"]),
        bandwidth_sensitive=ask["bandwidth_sensitive"],
        **_conditions(ask),
    )


def _conditions(wishes: Wishes) -> dict[str, Any]:
    return {
        "gpu_cores_percent": wishes.get("gpu_cores_percent", 0),
        "vendors": frozenset(wishes.get("vendors", ())),
        "preference": tuple(wishes.get("preference", ())),
        "gpu_selector": _selector(wishes.get("gpu_selector", ())),
    }


def _selector(conditions: Iterable[Mapping[str, Any]]) -> Selector:
    return tuple(Requirement(each["key"], each["operator"], tuple(each.get("values", ()))) for each in conditions)


def _step(step: Mapping[str, int]) -> Step:
    return Step(step["gradient_bytes"], step["compute_us"], step["overlap_percent"] * 100)
