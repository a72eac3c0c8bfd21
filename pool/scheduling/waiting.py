"""The waiting jobs in memory, in the order in which they are tried."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pool.engine.types import JobRequest, RoleRequest
from pool.scheduling import requests
from pool.scheduling.models import Job, JobRole, JobState

ClassKey = tuple[tuple[RoleRequest, ...], int, str]


@dataclass(slots=True)
class Waiting:
    """A queued job, ready to decide on. `job.tenant` and `job.queue` are loaded."""

    job: Job
    roles: tuple[JobRole, ...]
    request: JobRequest
    refused_at: int = -1  # generation of the fleet in which it was refused last
    explained: str = ""  # digest of the reasons that its page shows

    @property
    def order(self) -> tuple[int, float, int]:
        return (-self.job.priority, self.job.queued_at.timestamp(), self.job.pk)

    @property
    def class_key(self) -> ClassKey:
        """Jobs of one key fare alike: once one is refused, all are, until capacity grows."""
        return (self.request.roles, self.request.min_member, self.request.trust_group)


class WaitingList:
    """Kept equal to the database by `load` (hinted jobs) and `reconcile` (all)."""

    def __init__(self) -> None:
        self.jobs: dict[int, Waiting] = {}
        self._sorted: list[Waiting] | None = None

    def __iter__(self) -> Iterator[Waiting]:
        """Highest priority first, then the longest wait, then the lowest key."""
        if self._sorted is None:
            self._sorted = sorted(self.jobs.values(), key=lambda item: item.order)
        return iter(list(self._sorted))

    def __len__(self) -> int:
        return len(self.jobs)

    def load(self, job_ids: Iterable[int]) -> None:
        """Take in these jobs if they wait, drop them if not. Two queries."""
        wanted = set(job_ids)
        if not wanted:
            return
        for pk in wanted:
            self.drop(pk)
        for start in range(0, len(wanted), 500):
            self._load_some(sorted(wanted)[start : start + 500])

    def reconcile(self) -> None:
        """Compare with all queued jobs: what is missing is loaded, what has gone is dropped."""
        rows = Job.objects.filter(state=JobState.QUEUED).values_list("pk", "priority", "queued_at")
        queued = {pk: (priority, at) for pk, priority, at in rows}
        for pk in self.jobs.keys() - queued.keys():
            self.drop(pk)
        changed = [
            pk
            for pk, facts in queued.items()
            if pk not in self.jobs or (self.jobs[pk].job.priority, self.jobs[pk].job.queued_at) != facts
        ]
        self.load(changed)

    def drop(self, pk: int) -> None:
        if self.jobs.pop(pk, None) is not None:
            self._sorted = None

    def _load_some(self, job_ids: list[int]) -> None:
        jobs = Job.objects.filter(pk__in=job_ids, state=JobState.QUEUED).select_related("tenant", "queue__tenant")
        found = {job.pk: job for job in jobs}
        roles: dict[int, list[JobRole]] = {}
        for role in JobRole.objects.filter(job_id__in=found).order_by("job_id", "position"):
            roles.setdefault(role.job_id, []).append(role)
        for pk, job in found.items():
            parts = tuple(roles[pk])
            self.jobs[pk] = Waiting(job, parts, requests.of_job(job, parts))
            self._sorted = None
