"""What a job asks for, in words: "8 × 8 cards", "4 × 1/8 card", "2 × 1g.10gb"."""

from collections.abc import Iterable

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
    if role.mig_profile:
        return f"{role.devices} × {role.mig_profile}" if role.devices > 1 else role.mig_profile
    if role.share_bp == formats.WHOLE_BP:
        return formats.share(role.devices * role.share_bp)
    one = formats.share(role.share_bp)
    return f"{role.devices} × {one}" if role.devices > 1 else one


def memory(role: JobRole) -> str:
    """GPU memory per device."""
    sizes = [formats.memory(mib) for mib in role.memory_mib]
    if not sizes:
        return _("by share")
    return ", ".join(sizes)
