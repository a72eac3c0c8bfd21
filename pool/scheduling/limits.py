"""Limits of queues and tenants: which one bites first."""

from dataclasses import dataclass

from pool.scheduling.models import Job, JobState, Queue
from pool.scheduling.states import JOB_ACTIVE


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and what is used of it; `limit` None: no limit.

    `kind`: share_bp or running_jobs; of queues also gpu_memory_mib, cpu_milli, memory_mib. `foreign`: the named queue
    is another tenant's, whose work may not be told to the job's owner.
    """

    scope: str  # queue, tenant; above: a queue above the job's own; lending: quota that another queue never lends
    name: str
    kind: str
    limit: int | None
    used: int
    foreign: bool = False

    def left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)

    def bites(self, wanted: int) -> bool:
        return self.limit is not None and self.used + wanted > self.limit


@dataclass(frozen=True, slots=True)
class Usage:
    """What is held now: basis points by queue and by tenant, and running jobs likewise."""

    queue_bp: dict[int, int]
    tenant_bp: dict[int, int]
    queue_jobs: dict[int, int]
    tenant_jobs: dict[int, int]


def limits_of(queue: Queue, usage: Usage) -> list[Limit]:
    """All limits that a job of this queue meets, the queue's first; `queue.tenant` must be loaded."""
    tenant = queue.tenant
    return [
        Limit("queue", queue.name, "share_bp", queue.limit_share_bp, usage.queue_bp.get(queue.pk, 0)),
        Limit("queue", queue.name, "running_jobs", queue.limit_running_jobs, usage.queue_jobs.get(queue.pk, 0)),
        Limit("tenant", tenant.slug, "share_bp", tenant.limit_share_bp, usage.tenant_bp.get(tenant.pk, 0)),
        Limit("tenant", tenant.slug, "running_jobs", tenant.limit_running_jobs, usage.tenant_jobs.get(tenant.pk, 0)),
    ]


def wanted_of(limit: Limit, share_bp: int) -> int:
    return 1 if limit.kind == "running_jobs" else share_bp


def first_biting(limits: list[Limit], share_bp: int) -> Limit | None:
    """The first limit that a job of `share_bp` would break."""
    return next((limit for limit in limits if limit.bites(wanted_of(limit, share_bp))), None)


def tightest(limits: list[Limit], share_bp: int) -> Limit | None:
    """The limit that will bite first as work like this is added: the one with room for the fewest more."""

    def room(limit: Limit) -> float:
        return (limit.left() or 0) / max(1, wanted_of(limit, share_bp))

    return min((limit for limit in limits if limit.limit is not None), key=room, default=None)


def active_jobs() -> tuple[dict[int, int], dict[int, int]]:
    """Jobs that hold something, by queue and by tenant. One query."""
    by_queue: dict[int, int] = {}
    by_tenant: dict[int, int] = {}
    states = [JobState(state) for state in JOB_ACTIVE]
    for queue, tenant in Job.objects.filter(state__in=states).values_list("queue_id", "tenant_id"):
        by_queue[queue] = by_queue.get(queue, 0) + 1
        by_tenant[tenant] = by_tenant.get(tenant, 0) + 1
    return by_queue, by_tenant
