"""What a card in MIG mode can be cut into next, what it costs and whom it evicts: for those who see all work."""

from collections import defaultdict
from dataclasses import dataclass

from console.common import clock
from console.common.actor import Actor
from pool.engine.mig_tables import FAMILIES, Family
from pool.engine.repartition import Instance, Option, options
from pool.engine.types import WHOLE
from pool.inventory.models import Device
from pool.scheduling import ports
from pool.scheduling.defrag.queries import may_see
from pool.scheduling.models import Allocation, JobRole, JobState

LATEST = 2_000  # roles that the mix is observed from


@dataclass(frozen=True, slots=True)
class Plan:
    """`mix`: how often each profile of the card's family was asked for lately, in basis points; empty: never."""

    family: Family
    held: dict[int, Allocation]
    options: list[Option]
    mix: dict[str, int]


def plan_of(actor: Actor, device: Device) -> Plan | None:
    """Of a card that came from a scoped query; None for one that is not in MIG mode. Raises NotAllowed."""
    may_see(actor)
    family = FAMILIES.get(device.model.mig_family) if device.mig_enabled else None
    if family is None:
        return None
    live = Allocation.objects.filter(device=device, released_at=None).select_related("job__tenant", "replica")
    held = {row.pk: row for row in live.order_by("mig_start")}
    mix = observed(family)
    return Plan(family, held, options(family, _instances(held), mix), mix)


def observed(family: Family) -> dict[str, int]:
    """Of the latest requests, those for profiles of this family."""
    counts: dict[str, int] = defaultdict(int)
    names = {profile.name for profile in family.profiles}
    rows = JobRole.objects.order_by("-pk").values_list("mig_profile", "replicas")[:LATEST]
    for profile, replicas in rows:
        if profile in names:
            counts[profile] += replicas
    total = sum(counts.values())
    return {name: count * WHOLE // total for name, count in sorted(counts.items())} if total else {}


def _instances(held: dict[int, Allocation]) -> list[Instance]:
    """What a move of each would lose, in GPU-seconds; None where it may not be moved."""
    now = clock.now()
    jobs = {row.job_id for row in held.values()}
    saved = ports.checkpoints(sorted(jobs))
    several = set(
        Allocation.objects.filter(job__in=jobs, released_at=None)
        .exclude(replica__in=[row.replica_id for row in held.values()])
        .values_list("job_id", flat=True)
    )
    found = []
    for row in held.values():
        movable = row.job.preemptible and row.job.state == JobState.RUNNING and row.job_id not in several
        since = saved[row.job_id].at if row.job_id in saved else row.replica.started_at or row.created_at
        restart = saved[row.job_id].restart_s if row.job_id in saved else 0
        lost = row.share_bp * (max(0, int((now - since).total_seconds())) + restart) // WHOLE
        found.append(Instance(row.pk, row.mig_profile, row.mig_start, row.mig_size, max(1, lost) if movable else None))
    return found
