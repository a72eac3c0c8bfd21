"""Rows that billing reads, made plainly: a job, its replica, one allocation and one interval."""

from datetime import datetime
from fractions import Fraction
from typing import Any

from console.tenants.models import Project, Tenant
from pool.inventory.models import Device
from pool.scheduling.models import Allocation, Attempt, Interval, Job, Replica
from tests import factories


def device(model: str = "H100-80GB", site: str = "cn-sz-1", mig: bool = False) -> Device:
    """A card on a node of its own."""
    node = factories.make_node(site=factories.make_site(site), devices=1, model=model, mig=mig)
    found = node.devices.select_related("model", "node").first()
    assert found is not None
    return found


def job(tenant: Tenant, project: Project | None = None, name: str = "train") -> Job:
    return factories.make_job(tenant, name=name, **({"project": project} if project else {}))


def interval(
    card: Device,
    owner: Job,
    start: datetime,
    end: datetime | None = None,
    share_bp: int = 10_000,
    isolation: str = "",
    compute: Fraction | None = None,
    memory: Fraction | None = None,
    memory_mib: int | None = None,
    mig_profile: str = "",
    mig_start: int = -1,
    mig_size: int = 0,
) -> Interval:
    """Held from `start` to `end`; with end None it still runs. Released at once for the device's counters when it
    has ended, so that histories may be made in any order."""
    compute = compute if compute is not None else Fraction(share_bp, 10_000)
    held_mib = memory_mib if memory_mib is not None else -(-card.memory_mib * share_bp // 10_000)
    memory = memory if memory is not None else Fraction(held_mib, card.memory_mib)
    isolation = isolation or ("mig" if mig_profile else "exclusive" if share_bp == 10_000 else "vgpu")
    allocation = Allocation.objects.create(
        replica=_replica(card, owner, start, end),
        job=owner,
        tenant=owner.tenant,
        node=card.node,
        device=card,
        isolation=isolation,
        share_bp=share_bp,
        memory_mib=held_mib,
        mig_profile=mig_profile,
        mig_start=mig_start,
        mig_size=mig_size,
        epoch=1,
        created_at=start,
        released_at=end,
    )
    facts: dict[str, Any] = {
        "compute_num": compute.numerator,
        "compute_den": compute.denominator,
        "memory_num": memory.numerator,
        "memory_den": memory.denominator,
    }
    return Interval.objects.create(
        allocation=allocation,
        started_at=start,
        ended_at=end,
        end_reason="succeeded" if end else "",
        closed_at=end,
        job=owner,
        tenant=owner.tenant,
        project=owner.project,
        queue=owner.queue,
        site=card.node.site,
        device=card,
        model_name=card.model.name,
        vendor=card.model.vendor,
        isolation=isolation,
        share_bp=share_bp,
        memory_mib=held_mib,
        device_memory_mib=card.memory_mib,
        mig_profile=mig_profile,
        **facts,
    )


def close(row: Interval, end: datetime, known_at: datetime | None = None) -> None:
    """As the scheduler does: the end is set once."""
    Interval.objects.filter(pk=row.pk, ended_at__isnull=True).update(
        ended_at=end, end_reason="stopped", closed_at=known_at or end
    )
    row.refresh_from_db()


def _replica(card: Device, owner: Job, start: datetime, end: datetime | None) -> Replica:
    attempt = owner.attempts.first() or Attempt.objects.create(job=owner, number=1, epoch=1, placed_at=start)
    role = owner.roles.first()
    assert role is not None
    return Replica.objects.create(
        attempt=attempt,
        job=owner,
        role=role,
        rank=owner.replicas.count(),
        node=card.node,
        state="succeeded" if end else "running",
        assigned_at=start,
        ended_at=end,
    )
