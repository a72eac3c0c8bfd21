"""What a job asks for, in words: "8 × 8 cards", "4 × 1/8 card", "2 × 1g.10gb"."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from console.common import formats
from pool.scheduling.models import JobRole


def of_job(roles: Iterable[JobRole]) -> str:
    """All roles, joined; models only when every role names the same single one."""
    roles = list(roles)
    parts = [of_role(role) for role in roles]
    models = {tuple(role.models_allowed) for role in roles if role.devices}
    only = next(iter(models)) if len(models) == 1 else ()
    text = " + ".join(parts)
    return f"{text} · {only[0]}" if len(only) == 1 else text


def of_role(role: JobRole) -> str:
    """Replicas times what one replica holds."""
    one = of_replica(role)
    return f"{formats.count(role.replicas)} × {one}" if role.replicas > 1 else one


def of_replica(role: JobRole) -> str:
    if not role.devices:
        return _("CPU only")
    if "devices" in role.wishes:
        return " + ".join(_of_ask(ask) for ask in role.wishes["devices"])
    return _devices(role.devices, role.mig_profile, role.share_bp, role.wishes.get("gpu_cores_percent", 0))


def _of_ask(ask: Mapping[str, Any]) -> str:
    share = round(float(ask.get("gpu_fraction", 1)) * formats.WHOLE_BP)
    text = _devices(ask["gpus"], ask.get("mig_profile", ""), share, ask.get("gpu_cores_percent", 0))
    names = [*ask["models"], *ask.get("vendors", ())]
    return f"{text} ({', '.join(names)})" if names else text


def _devices(count: int, profile: str, share_bp: int, cores: int) -> str:
    if profile:
        return f"{count} × {profile}" if count > 1 else profile
    if share_bp == formats.WHOLE_BP and not cores:
        return formats.share(count * share_bp)
    one = formats.share(share_bp)
    if cores:
        one = _("%(cores)s %% compute, %(share)s memory") % {"cores": cores, "share": one}
    return f"{count} × {one}" if count > 1 else one


def of_work(work: Mapping[str, Any]) -> str:
    """A class of work as it is stored with a measure (defrag.told.work_of)."""
    text = _devices(work["devices"], work["mig_profile"], work["share_bp"], 0)
    return f"{text} ({', '.join(work['models'])})" if work["models"] else text


def memory(role: JobRole) -> str:
    """GPU memory per device."""
    sizes = [formats.memory(mib) for mib in role.memory_mib]
    if not sizes:
        return _("by share")
    return ", ".join(sizes)
