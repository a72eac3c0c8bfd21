"""From a client's JSON object to a JobSpec. Bad input names every field that is wrong and changes nothing."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from console.common.errors import FieldError, InvalidInput
from pool.scheduling.spec.fields import Reader
from pool.scheduling.spec.model import MAX_DEVICES, MAX_MIB, MAX_REPLICAS, WHOLE_BP, JobSpec, RoleSpec

ISOLATIONS = ("auto", "exclusive", "mig", "vgpu")
KINDS = ("batch", "service", "interactive", "workflow_step")
_RESOURCES = (
    "gpus",
    "gpu_fraction",
    "gpu_cores_percent",
    "gpu_memory_mib",
    "mig_profile",
    "isolation",
    "models",
    "cpu_milli",
    "memory_mib",
    "bandwidth_sensitive",
    "replicas",
)
MAX_DURATION_S = 366 * 86_400


def parse_job(data: Any) -> JobSpec:
    """Raises InvalidInput with one FieldError for each fault."""
    errors: list[FieldError] = []
    if not isinstance(data, Mapping):
        raise InvalidInput([FieldError("", _("must be a JSON object"))])
    reader = Reader(data, "", errors)
    name = reader.text("name", "", 120)
    if not name:
        reader.fail("name", _("must be given"))
    roles = _roles(reader, errors)
    total = sum(role.replicas for role in roles)
    spec = JobSpec(
        name=name,
        tenant=reader.text("tenant", "", 64),
        project=reader.text("project", "", 64),
        queue=reader.text("queue", "", 64),
        kind=reader.choice("kind", "batch", KINDS),
        command=reader.command("command"),
        environment=reader.mapping("environment", environment=True),
        labels=reader.mapping("labels", environment=False),
        roles=roles,
        # unless said otherwise a job is a gang: all replicas or nothing
        min_member=reader.integer("min_member", max(1, sum(role.min_replicas for role in roles)), 1, max(1, total)),
        priority=reader.integer("priority", 0, -1000, 1000),
        preemptible=reader.boolean("preemptible"),
        max_duration_s=reader.integer("max_duration", 0, 1, MAX_DURATION_S) or None,
        max_retries=reader.integer("max_retries", 0, 0, 100),
    )
    reader.unknown()
    if errors:
        raise InvalidInput(errors)
    return spec


def _roles(reader: Reader, errors: list[FieldError]) -> tuple[RoleSpec, ...]:
    if not reader.has("roles"):
        role = _role(Reader(reader.data, "", errors), "worker")
        reader.known.update(_RESOURCES)
        return (role,)
    given = reader.data["roles"]
    if not isinstance(given, list) or not 1 <= len(given) <= 16 or not all(isinstance(r, Mapping) for r in given):
        reader.fail("roles", _("must be a list of 1 to 16 objects"))
        return ()
    for name in _RESOURCES:
        if name in reader.data:
            reader.known.add(name)
            reader.fail(name, _("belongs into each role when roles are given"))
    roles: list[RoleSpec] = []
    for index, item in enumerate(given):
        child = Reader(item, f"roles[{index}].", errors)
        name = child.text("name", "", 40)
        if not name or name in {role.name for role in roles}:
            child.fail("name", _("must be given and differ from the other roles"))
        roles.append(_role(child, name))
        child.unknown()
    return tuple(roles)


def _role(reader: Reader, name: str) -> RoleSpec:
    devices = reader.integer("gpus", 1, 0, MAX_DEVICES)
    replicas = reader.integer("replicas", 1, 1, MAX_REPLICAS)
    lowest = reader.integer("min_replicas", replicas, 0, replicas) if reader.path else replicas
    if not reader.path and reader.has("min_member"):
        lowest = 0  # the job's own minimum decides
    isolation = reader.choice("isolation", "auto", ISOLATIONS)
    profile = reader.text("mig_profile", "", 40)
    share = _share(reader, devices, profile, isolation)
    return RoleSpec(
        name=name,
        replicas=replicas,
        min_replicas=lowest,
        max_replicas=reader.integer("max_replicas", replicas, replicas, MAX_REPLICAS) if reader.path else replicas,
        devices=devices,
        share_bp=share,
        memory_mib=_memory(reader, devices),
        mig_profile=profile,
        isolation="mig" if profile else isolation,
        models=reader.texts("models"),
        cpu_milli=reader.integer("cpu_milli", 0, 0, 10**7),
        host_memory_mib=reader.integer("memory_mib", 0, 0, MAX_MIB),
        bandwidth_sensitive=reader.boolean("bandwidth_sensitive"),
    )


def _share(reader: Reader, devices: int, profile: str, isolation: str) -> int:
    fraction = reader.share_bp("gpu_fraction")
    percent = reader.integer("gpu_cores_percent", 0, 1, 100)
    if fraction is not None and percent:
        reader.fail("gpu_cores_percent", _("give either this or gpu_fraction"))
    if profile and (fraction is not None or percent):
        reader.fail("mig_profile", _("already says the share: leave out gpu_fraction and gpu_cores_percent"))
    if profile and isolation not in {"auto", "mig"}:
        reader.fail("isolation", _("must be mig or auto when mig_profile is given"))
    if profile and devices == 0:
        reader.fail("gpus", _("must be at least 1 when mig_profile is given"))
    share = fraction or percent * 100 or WHOLE_BP
    if isolation == "exclusive" and share != WHOLE_BP:
        reader.fail("isolation", _("exclusive means whole cards: leave out the fraction, or choose vgpu, mig or auto"))
    if isolation == "mig" and share == WHOLE_BP and not profile:
        reader.fail("mig_profile", _("must be given, or a gpu_fraction below 1, when isolation is mig"))
    return share


def _memory(reader: Reader, devices: int) -> tuple[int, ...]:
    name = "gpu_memory_mib"
    if not reader.has(name):
        return ()
    value = reader.data[name]
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int) or not 1 <= item <= MAX_MIB:
            reader.fail(name, _("must be whole MiB of at least 1, or a list with one number per device"))
            return ()
    if isinstance(value, list) and len(items) != devices:
        reader.fail(name, _("must have one number per device: %(devices)s") % {"devices": devices})
        return ()
    return tuple(items)


def canonical(spec: JobSpec) -> dict[str, Any]:
    """The accepted request as JSON that parse_job takes again: what a clone starts from."""
    body: dict[str, Any] = {
        "name": spec.name,
        "project": spec.project,
        "queue": spec.queue,
        "kind": spec.kind,
        "command": list(spec.command),
        "environment": spec.environment,
        "labels": spec.labels,
        "roles": [_canonical_role(role) for role in spec.roles],
        "min_member": spec.min_member,
        "priority": spec.priority,
        "preemptible": spec.preemptible,
        "max_retries": spec.max_retries,
    }
    if spec.max_duration_s:
        body["max_duration"] = spec.max_duration_s
    return body


def _canonical_role(role: RoleSpec) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": role.name,
        "replicas": role.replicas,
        "min_replicas": role.min_replicas,
        "gpus": role.devices,
        "isolation": role.isolation,
        "models": list(role.models),
        "cpu_milli": role.cpu_milli,
        "memory_mib": role.host_memory_mib,
        "bandwidth_sensitive": role.bandwidth_sensitive,
    }
    if role.max_replicas != role.replicas:
        body["max_replicas"] = role.max_replicas
    if role.mig_profile:
        body["mig_profile"] = role.mig_profile
    elif role.share_bp != WHOLE_BP:
        body["gpu_fraction"] = str(role.share_bp / WHOLE_BP)
    if role.memory_mib:
        # one number means every device, a list means one number each
        body["gpu_memory_mib"] = role.memory_mib[0] if len(role.memory_mib) == 1 else list(role.memory_mib)
    return body
