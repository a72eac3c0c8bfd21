"""An accepted specification as JSON again: what a clone starts from, and what is stored beside plain resources."""

from typing import Any

from pool.engine.affinity import Affinity
from pool.engine.selectors import Requirement, Selector
from pool.scheduling.spec.model import WHOLE_BP, DeviceAsk, JobSpec, RoleSpec


def canonical(spec: JobSpec) -> dict[str, Any]:
    """The accepted request as JSON that parse_job takes again."""
    body: dict[str, Any] = {
        "name": spec.name,
        "project": spec.project,
        "queue": spec.queue,
        "kind": spec.kind,
        "command": list(spec.command),
        "environment": spec.environment,
        "labels": spec.labels,
        "roles": [_role(role) for role in spec.roles],
        "min_member": spec.min_member,
        "priority": spec.priority,
        "preemptible": spec.preemptible,
        "max_retries": spec.max_retries,
    }
    if spec.max_duration_s:
        body["max_duration"] = spec.max_duration_s
    if spec.preempt_min_runtime_s:
        body["preempt_min_runtime"] = spec.preempt_min_runtime_s
    if spec.checkpoint:
        body["checkpoint"] = {"signal": spec.checkpoint.signal, "grace_s": spec.checkpoint.grace_s}
    for name in ("start_no_earlier_than", "deadline"):
        at = getattr(spec, name)
        if at is not None:
            body[name] = at.isoformat()
    return body | job_wishes(spec)


def job_wishes(spec: JobSpec) -> dict[str, Any]:
    """Where a job wants to stand, as in its request; empty for most."""
    wishes = _levels(spec)
    for name, anti in (("affinity", False), ("anti_affinity", True)):
        terms = [_term(term) for term in spec.affinity if term.anti == anti]
        if terms:
            wishes[name] = terms
    if spec.step is not None:
        wishes["step"] = {
            "gradient_bytes": spec.step.gradient_bytes,
            "compute_us": spec.step.compute_us,
            "overlap_percent": spec.step.overlap_bp // 100,
        }
    return wishes


def role_wishes(role: RoleSpec) -> dict[str, Any]:
    """What a role asks for beyond plain resources, as in its request; empty for most."""
    wishes = _levels(role) | _conditions(role)
    if role.asks:
        wishes["devices"] = [_devices(ask) for ask in role.asks]
    return wishes


def _role(role: RoleSpec) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": role.name,
        "replicas": role.replicas,
        "min_replicas": role.min_replicas,
        "cpu_milli": role.cpu_milli,
        "memory_mib": role.host_memory_mib,
    }
    if role.max_replicas != role.replicas:
        body["max_replicas"] = role.max_replicas
    if not role.asks:
        body |= _devices(role)
    return body | role_wishes(role)


def _devices(ask: DeviceAsk) -> dict[str, Any]:
    body: dict[str, Any] = {
        "gpus": ask.devices,
        "isolation": ask.isolation,
        "models": list(ask.models),
        "bandwidth_sensitive": ask.bandwidth_sensitive,
    }
    if ask.mig_profile:
        body["mig_profile"] = ask.mig_profile
    elif ask.share_bp != WHOLE_BP or ask.gpu_cores_percent:
        body["gpu_fraction"] = str(ask.share_bp / WHOLE_BP)
    if ask.memory_mib:
        # one number means every device, a list means one number each
        body["gpu_memory_mib"] = ask.memory_mib[0] if len(ask.memory_mib) == 1 else list(ask.memory_mib)
    return body | _conditions(ask)


def _conditions(ask: DeviceAsk) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gpu_cores_percent": ask.gpu_cores_percent,
        "vendors": list(ask.vendors),
        "preference": list(ask.preference),
        "gpu_selector": _selector(ask.gpu_selector),
    }
    return {name: value for name, value in found.items() if value}


def _levels(thing: JobSpec | RoleSpec) -> dict[str, Any]:
    names = ("required_topology_level", "preferred_topology_level")
    return {name: getattr(thing, name) for name in names if getattr(thing, name)}


def _selector(selector: Selector) -> list[dict[str, Any]]:
    return [_condition(condition) for condition in selector]


def _condition(condition: Requirement) -> dict[str, Any]:
    values = {"values": list(condition.values)} if condition.values else {}
    return {"key": condition.key, "operator": condition.operator, **values}


def _term(term: Affinity) -> dict[str, Any]:
    weight = {} if term.required else {"weight": term.weight}
    return {"job_labels": _selector(term.selector), "level": term.level, "required": term.required, **weight}
