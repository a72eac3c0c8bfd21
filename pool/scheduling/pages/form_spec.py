"""Between the form and the specification: request out, errors and clones in."""

import shlex
from typing import Any

from console.common.errors import FieldError
from pool.scheduling.pages import form_advanced
from pool.scheduling.pages.form import MIG, NONE, SHARE, UNIT_SECONDS, WHOLE, JobForm

_FORM_FIELDS = {
    "gpu_fraction": "gpu_share",
    "gpu_cores_percent": "gpu_cores",
    "gpu_memory_mib": "gpu_memory",
    "cpu_milli": "cpu",
    "memory_mib": "memory",
}
# fields that the page hides in a mode: their errors are said on top instead
_HIDDEN = {
    WHOLE: {"gpu_share", "gpu_cores", "mig_profile", "isolation"},
    SHARE: {"mig_profile"},
    MIG: {"gpu_share", "gpu_cores", "isolation", "gpu_memory"},
    NONE: {
        *("gpus", "gpu_share", "gpu_cores", "mig_profile", "isolation", "gpu_memory", "models", "bandwidth_sensitive"),
        *("vendors", "preference", "gpu_selector"),
    },
}


def to_spec(data: dict[str, Any]) -> dict[str, Any]:
    """The request of cleaned form data; what was left empty is left out, so that defaults are the API's."""
    spec: dict[str, Any] = {name: data.get(name) for name in ("name", "tenant", "project", "queue", "kind", "command")}
    spec.update(_gpu(data))
    spec.update(
        cpu_milli=int(data["cpu"] * 1000) if data.get("cpu") is not None else None,
        memory_mib=data.get("memory"),
        environment=data.get("environment"),
        labels=data.get("labels"),
        replicas=data.get("replicas"),
        min_member=data.get("min_member"),
        priority=data.get("priority"),
        preemptible=data.get("preemptible") or None,
        max_duration=_seconds(data),
        max_retries=data.get("max_retries"),
        **form_advanced.to_spec(data, (data.get("gpu_mode") or WHOLE) != NONE),
    )
    return {name: value for name, value in spec.items() if value not in (None, "", [], {})}


def _gpu(data: dict[str, Any]) -> dict[str, Any]:
    mode = data.get("gpu_mode") or WHOLE
    if mode == NONE:
        return {"gpus": 0}
    gpu: dict[str, Any] = {
        "gpus": data.get("gpus"),
        "models": data.get("models"),
        "bandwidth_sensitive": data.get("bandwidth_sensitive") or None,
    }
    if mode == MIG:
        return {**gpu, "mig_profile": data.get("mig_profile")}
    gpu["gpu_memory_mib"] = data.get("gpu_memory")
    if mode == SHARE:
        gpu.update(
            gpu_fraction=data.get("gpu_share"),
            gpu_cores_percent=data.get("gpu_cores"),
            isolation=data.get("isolation"),
        )
    return gpu


def _seconds(data: dict[str, Any]) -> int | None:
    amount = data.get("max_duration")
    return amount * UNIT_SECONDS[data.get("max_duration_unit") or "h"] if amount else None


def take_errors(form: JobForm, errors: list[FieldError]) -> None:
    """Puts each error of the specification beside its field, or on top when the page does not show the field."""
    hidden = _HIDDEN[form.cleaned_data.get("gpu_mode") or WHOLE]
    for error in errors:
        base = error.field.split(".")[0].split("[")[0]
        name = _FORM_FIELDS.get(base, base)
        if name in form.fields and name not in hidden:
            form.add_error(name, error.message)
        else:
            form.add_error(None, f"{error.field}: {error.message}" if error.field else error.message)


def initial_of(spec: dict[str, Any]) -> dict[str, Any] | None:
    """The form's values for a stored specification; None when the form cannot say it."""
    roles = spec.get("roles") or []
    if len(roles) != 1 or not _sayable(spec, roles[0]):
        return None
    role = roles[0]
    whole = {name: spec.get(name) for name in ("name", "tenant", "project", "queue", "kind", "priority", "preemptible")}
    duration, unit = _duration(spec.get("max_duration"))
    return {
        **whole,
        "command": shlex.join(spec.get("command", [])),
        "environment": _lines(spec.get("environment")),
        "labels": _lines(spec.get("labels")),
        "max_duration": duration,
        "max_duration_unit": unit,
        "max_retries": spec.get("max_retries") or None,
        "min_member": spec["min_member"] if spec.get("min_member") != role["replicas"] else None,
        "replicas": role["replicas"],
        "cpu": (role.get("cpu_milli") or 0) / 1000 or None,
        "memory": role.get("memory_mib") or "",
        **_gpu_initial(role),
        **form_advanced.initial_of(spec, role),
    }


def _sayable(spec: dict[str, Any], role: dict[str, Any]) -> bool:
    """Several roles, unequal devices, a minimum of a role beside that of the job, a training step, a soft share of a
    whole card and values of many lines need the JSON form."""
    soft_whole = "gpu_fraction" not in role and role.get("isolation") == "vgpu"
    lines = [*spec.get("environment", {}).values(), *spec.get("labels", {}).values()]
    more = (
        "step" in spec or "devices" in role or "required_topology_level" in role or "preferred_topology_level" in role
    )
    least = role.get("min_replicas") not in (0, role["replicas"])
    return not more and not least and not soft_whole and not any("\n" in line for line in lines)


def _gpu_initial(role: dict[str, Any]) -> dict[str, Any]:
    memory = role.get("gpu_memory_mib") or ""
    values: dict[str, Any] = {
        "gpu_mode": WHOLE,
        "gpus": role["gpus"] or 1,
        "models": role.get("models", []),
        "bandwidth_sensitive": role.get("bandwidth_sensitive"),
        "gpu_memory": ", ".join(str(mib) for mib in memory) if isinstance(memory, list) else memory,
    }
    if role["gpus"] == 0:
        values["gpu_mode"] = NONE
    elif role.get("mig_profile"):
        values.update(gpu_mode=MIG, mig_profile=role["mig_profile"])
    elif role.get("gpu_fraction"):
        values.update(gpu_mode=SHARE, gpu_share=role["gpu_fraction"], isolation=role.get("isolation"))
    return values


def _lines(values: dict[str, str] | None) -> str:
    return "\n".join(f"{name}={value}" for name, value in (values or {}).items())


def _duration(seconds: int | None) -> tuple[int | None, str]:
    """The largest unit that says it exactly; the form knows no seconds and rounds up."""
    if not seconds:
        return None, "h"
    for unit in ("d", "h"):
        if seconds % UNIT_SECONDS[unit] == 0:
            return seconds // UNIT_SECONDS[unit], unit
    return -(-seconds // 60), "min"
