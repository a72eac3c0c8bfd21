"""Limits of queues, projects and tenants: which one bites first."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pool.scheduling.models import Job, JobState, Queue
from pool.scheduling.states import JOB_ACTIVE


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and what is used of it; `limit` None: no limit.

    `kind`: share_bp or running_jobs; card_s (basis-point-seconds of a reference card) of a budget; of queues also
    gpu_memory_mib, cpu_milli, memory_mib. `foreign`: the named queue is another tenant's, whose work may not be told
    to the job's owner.
    """

    # queue, project, tenant; above: a queue above its own; lending: quota that another queue never lends
    scope: str
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
    """What is held now: basis points by queue, tenant and project, and running jobs likewise."""

    queue_bp: dict[int, int]
    tenant_bp: dict[int, int]
    queue_jobs: dict[int, int]
    tenant_jobs: dict[int, int]
    project_bp: dict[int, int] = field(default_factory=dict)
    project_jobs: dict[int, int] = field(default_factory=dict)

    def count(self, queue: int, tenant: int, project: int, share_bp: int, jobs: int) -> None:
        """A job more, or, with negative numbers, one less."""
        for table, key, more in (
            (self.queue_bp, queue, share_bp),
            (self.tenant_bp, tenant, share_bp),
            (self.project_bp, project, share_bp),
            (self.queue_jobs, queue, jobs),
            (self.tenant_jobs, tenant, jobs),
            (self.project_jobs, project, jobs),
        ):
            table[key] = table.get(key, 0) + more


class ProjectLimits(NamedTuple):
    """A project's part of what its tenant may hold."""

    pk: int
    slug: str
    limit_share_bp: int | None
    limit_running_jobs: int | None


def limits_of(queue: Queue, usage: Usage, project: ProjectLimits | None = None) -> list[Limit]:
    """All limits that a job of this queue and project meets, the queue's first; `queue.tenant` must be loaded."""
    tenant = queue.tenant
    of_project = [] if project is None else _of_project(project, usage)
    return [
        Limit("queue", queue.name, "share_bp", queue.limit_share_bp, usage.queue_bp.get(queue.pk, 0)),
        Limit("queue", queue.name, "running_jobs", queue.limit_running_jobs, usage.queue_jobs.get(queue.pk, 0)),
        *of_project,
        Limit("tenant", tenant.slug, "share_bp", tenant.limit_share_bp, usage.tenant_bp.get(tenant.pk, 0)),
        Limit("tenant", tenant.slug, "running_jobs", tenant.limit_running_jobs, usage.tenant_jobs.get(tenant.pk, 0)),
    ]


def _of_project(project: ProjectLimits, usage: Usage) -> list[Limit]:
    pk, slug = project.pk, project.slug
    return [
        Limit("project", slug, "share_bp", project.limit_share_bp, usage.project_bp.get(pk, 0)),
        Limit("project", slug, "running_jobs", project.limit_running_jobs, usage.project_jobs.get(pk, 0)),
    ]


def wanted_of(limit: Limit, share_bp: int, card_s: int | None = None) -> int:
    """What a job asks of it: `share_bp` at once, or `card_s` of a budget where both are met."""
    if limit.kind == "running_jobs":
        return 1
    return card_s if limit.kind == "card_s" and card_s is not None else share_bp


def first_biting(limits: Sequence[Limit], share_bp: int, card_s: int | None = None) -> Limit | None:
    """The first limit that such a job would break."""
    return next((limit for limit in limits if limit.bites(wanted_of(limit, share_bp, card_s))), None)


def tightest(limits: Sequence[Limit], share_bp: int, card_s: int | None = None) -> Limit | None:
    """The limit that will bite first as work like this is added: the one with room for the fewest more."""

    def room(limit: Limit) -> float:
        return (limit.left() or 0) / max(1, wanted_of(limit, share_bp, card_s))

    return min((limit for limit in limits if limit.limit is not None), key=room, default=None)


def active_jobs() -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Jobs that hold something, by queue, by tenant and by project. One query."""
    by_queue: dict[int, int] = {}
    by_tenant: dict[int, int] = {}
    by_project: dict[int, int] = {}
    states = [JobState(state) for state in JOB_ACTIVE]
    rows = Job.objects.filter(state__in=states).values_list("queue_id", "tenant_id", "project_id")
    for queue, tenant, project in rows:
        by_queue[queue] = by_queue.get(queue, 0) + 1
        by_tenant[tenant] = by_tenant.get(tenant, 0) + 1
        by_project[project] = by_project.get(project, 0) + 1
    return by_queue, by_tenant, by_project
