"""The waiting jobs in memory, in the order in which they are tried."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from console.common.clock import Clock
from console.common.clock import now as wall_clock
from console.tenants.models import Tenant
from pool.engine.types import JobRequest, RoleRequest
from pool.scheduling import requests
from pool.scheduling.elastic import is_elastic, least_share_bp
from pool.scheduling.limits import ProjectLimits
from pool.scheduling.models import Job, JobState, Queue

ClassKey = tuple[object, ...]


def bound_s(max_duration_s: int | None, finish_by: datetime | None, now: datetime) -> int | None:
    """Seconds that a job runs at most if it starts now; None where nothing ends it."""
    if finish_by is None:
        return max_duration_s
    left = max(0, int((finish_by - now).total_seconds()))
    return left if max_duration_s is None else min(left, max_duration_s)


@dataclass(slots=True)
class Waiting:
    """A queued job, ready to decide on and to place: plain values, read by one query."""

    pk: int
    public_id: str
    name: str
    tenant_id: int
    project_id: int
    queue_id: int
    priority: int
    queued_at: datetime
    attempt_count: int
    total_share_bp: int  # what limits must have room for: of an elastic job its minimum
    command: list[str]
    environment: dict[str, str]
    request: JobRequest
    role_ids: dict[str, int]  # in the order of the roles
    preemptible: bool = False
    wishes: bool = False  # whether the job says where it wants to stand
    elastic: bool = False  # whether it may start with less than it would take
    max_duration_s: int | None = None
    finish_by: datetime | None = None
    spared_s: int = 0  # is not preempted before it ran so long
    refused_at: int = -1  # generation of the fleet in which it was refused last
    explained: str = ""  # the reasons that its page shows

    @property
    def order(self) -> tuple[int, float, int]:
        return (-self.priority, self.queued_at.timestamp(), self.pk)

    def bound_s(self, now: datetime) -> int | None:
        """Seconds that it runs at most if it starts now; None where nothing ends it."""
        return bound_s(self.max_duration_s, self.finish_by, now)

    def class_key(self, repelled: bool = False) -> ClassKey:
        """Jobs of one key fare alike: once one is refused, all are, until capacity grows.

        `repelled`: some live work keeps other work away, so that labels and tenant count for every job.
        """
        asked = self.request
        key: ClassKey = (asked.roles, asked.min_member, asked.trust_group)
        if self.wishes:
            key += (asked.required_topology_level, asked.preferred_topology_level, asked.affinity)
        if asked.affinity or (repelled and asked.labels):
            key += (asked.tenant, asked.labels)
        return key

    @property
    def attracted(self) -> bool:
        """Whether work that starts somewhere may make room for it: it must stand near its like."""
        return any(term.required and not term.anti for term in self.request.affinity)


class WaitingList:
    """Kept equal to the database by `load` (hinted jobs) and `reconcile` (all). Who may not start yet is not in it."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self.clock = clock
        self.jobs: dict[int, Waiting] = {}
        self.queues: dict[int, Queue] = {}
        self.projects: dict[int, ProjectLimits] = {}  # those that have any
        self._sorted: list[Waiting] | None = None

    def __iter__(self) -> Iterator[Waiting]:
        """Highest priority first, then the longest wait, then the lowest key."""
        if self._sorted is None:
            self._sorted = sorted(self.jobs.values(), key=lambda item: item.order)
        return iter(list(self._sorted))

    def __len__(self) -> int:
        return len(self.jobs)

    def load(self, job_ids: Iterable[int]) -> None:
        """Take in these jobs if they wait, drop them if not. One query."""
        wanted = sorted(set(job_ids))
        for pk in wanted:
            self.drop(pk)
        for start in range(0, len(wanted), 500):
            for job in _read(wanted[start : start + 500], self.clock()):
                self.jobs[job.pk] = job
        self._sorted = None
        if any(self.jobs[pk].queue_id not in self.queues for pk in wanted if pk in self.jobs):
            self.load_queues()

    def reconcile(self) -> None:
        """Compare with all queued jobs: what is missing is loaded, what has gone is dropped."""
        may_start = Q(not_before=None) | Q(not_before__lte=self.clock())
        rows = Job.objects.filter(may_start, state=JobState.QUEUED).values_list("pk", "priority", "queued_at")
        queued = {pk: (priority, at) for pk, priority, at in rows}
        for pk in self.jobs.keys() - queued.keys():
            self.drop(pk)
        changed = [
            pk
            for pk, facts in queued.items()
            if pk not in self.jobs or (self.jobs[pk].priority, self.jobs[pk].queued_at) != facts
        ]
        if changed:
            self.load(changed)
        self.load_queues()

    def load_queues(self) -> None:
        """Limits and states of queues, projects and tenants; at most a second old."""
        self.queues = {queue.pk: _of_tenant(queue) for queue in Queue.objects.select_related("tenant")}
        self.projects = {row[0]: ProjectLimits(*row) for row in sql.fetch(_LIMITED)}

    def drop(self, pk: int) -> None:
        if self.jobs.pop(pk, None) is not None:
            self._sorted = None


def _of_tenant(queue: Queue) -> Queue:
    """The queues of a tenant that is suspended or closed start nothing, like held ones."""
    if queue.tenant.state != Tenant.State.ACTIVE:
        queue.state = Queue.State.HELD
    return queue


_LIMITED = (
    "SELECT id, slug, limit_share_bp, limit_running_jobs FROM tenants_project"
    " WHERE limit_share_bp IS NOT NULL OR limit_running_jobs IS NOT NULL"
)

# one statement, not the ORM: compiling the two queries took longer than running them
_SELECT = """
SELECT j.id, j.public_id, j.name, j.tenant_id, j.project_id, j.queue_id, j.priority, j.queued_at, j.attempt_count,
       j.total_share_bp, j.command, j.environment, j.min_member, j.preemptible, t.public_id, t.trust_group, j.labels,
       j.wishes, j.max_duration, j.finish_by, j.preempt_min_runtime, r.id, r.name, r.max_replicas,
       r.min_replicas, r.wishes, r.devices, r.share_bp, r.memory_mib,
       r.mig_profile, r.isolation, r.models_allowed, r.cpu_milli, r.host_memory_mib, r.bandwidth_sensitive
FROM scheduling_job j
JOIN tenants_tenant t ON t.id = j.tenant_id
JOIN scheduling_jobrole r ON r.job_id = j.id
WHERE {which} AND j.id IN ({marks})
ORDER BY j.id, r.position
"""
_JOB_COLUMNS = 21
_MAY_START = "j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= %s)"


def requests_of(job_ids: Iterable[int]) -> dict[int, JobRequest]:
    """What running jobs asked for, as the engine's requests, by primary key."""
    wanted = sorted(set(job_ids))
    parts = (wanted[start : start + 500] for start in range(0, len(wanted), 500))
    return {job.pk: job.request for part in parts for job in _select("j.state = 'running'", [], part)}


def _read(job_ids: list[int], now: datetime) -> Iterator[Waiting]:
    return _select(_MAY_START, [now], job_ids)


def _select(which: str, values: list[Any], job_ids: list[int]) -> Iterator[Waiting]:
    marks = ", ".join(["%s"] * len(job_ids))
    with sql.cursor() as cursor:
        cursor.execute(_SELECT.format(which=which, marks=marks), [*values, *job_ids])
        rows = cursor.fetchall()
    jobs: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        jobs.setdefault(row[0], []).append(row)
    return (_job(group) for group in jobs.values())


def _job(rows: list[tuple[Any, ...]]) -> Waiting:
    """`rows` are those of one job, one a role."""
    pk, public_id, name, tenant, project, queue, priority, queued_at, attempts, share, *rest = rows[0][:_JOB_COLUMNS]
    command, environment, least, preemptible, tenant_key, group, labels, job_wishes, longest, finish_by, spared = rest
    roles = [row[_JOB_COLUMNS:] for row in rows]
    wishes = orjson.loads(job_wishes)
    parts = tuple(_role(role) for role in roles)
    named = orjson.loads(labels)
    request = requests.of_job(pk, tenant_key, group or tenant_key, parts, least, named, wishes)
    elastic = is_elastic(request)
    return Waiting(
        pk=pk,
        public_id=public_id,
        name=name,
        tenant_id=tenant,
        project_id=project,
        queue_id=queue,
        priority=priority,
        queued_at=read_datetime(queued_at),
        attempt_count=attempts,
        total_share_bp=least_share_bp(request) if elastic else share,
        command=orjson.loads(command),
        environment=orjson.loads(environment),
        request=request,
        role_ids={role[1]: role[0] for role in roles},
        preemptible=bool(preemptible),
        wishes=bool(wishes),
        elastic=elastic,
        max_duration_s=_seconds(longest),
        finish_by=read_datetime(finish_by) if finish_by is not None else None,
        spared_s=_seconds(spared) or 0,
    )


def _seconds(value: Any) -> int | None:
    duration = read_duration(value)
    return None if duration is None else int(duration.total_seconds())


def _role(row: tuple[Any, ...]) -> RoleRequest:
    _, name, most, least, more, devices, share, memory, profile, isolation, models, cpu, host, sensitive = row
    wishes = orjson.loads(more)
    request = requests.of_replica(
        devices,
        share,
        orjson.loads(memory),
        profile,
        isolation,
        orjson.loads(models),
        cpu,
        host,
        bool(sensitive),
        wishes,
    )
    return requests.of_role(name, request, most, least, wishes)
