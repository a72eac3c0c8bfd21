"""When those who wait would start: the inputs of a look ahead, and what it tells."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from pool.engine.ahead import Counted, Ends, Run, Spans, Starts, look_ahead
from pool.engine.ahead.spans import Floats
from pool.engine.copying import copy_of
from pool.scheduling.limits import Limit, Usage, limits_of, wanted_of
from pool.scheduling.mirror import FleetMirror, Held
from pool.scheduling.outlook.history import groups_of
from pool.scheduling.waiting import Waiting, WaitingList

RUNS = 29  # p10 and p90 are the third from either end
MOST_LINE = 48  # of those who wait: the first ones
MOST_EVENTS = 400  # ends in a run
PART = 64  # jobs that are read before whoever drives may do something else
STOPPING_S = 30.0  # what was told to stop holds its place so long at most: its grace is seconds


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds from the moment of asking; None: later than `horizon` (or never, where that is None)."""

    early: float | None
    middle: float | None
    late: float | None
    horizon: float | None


@dataclass(frozen=True, slots=True)
class Basis:
    """Running work with a known latest end, with a history of its like, with neither; groups of the history."""

    bounded: int
    seen: int
    unseen: int
    groups: tuple[str, ...]


class Forecast:
    """One look ahead. `steps` works a little and stops, again and again; then `estimates` tell."""

    def __init__(
        self,
        mirror: FleetMirror,
        waiting: WaitingList,
        line: Sequence[Waiting],
        usage: Usage,
        spans: Spans,
        now: datetime,
        kept: Mapping[int, object],
    ) -> None:
        """`kept`: jobs for which room is being made; they start by themselves and are not looked at."""
        self.now, self._spans = now, spans
        self._rng = np.random.default_rng(int(now.timestamp()) // 60)  # looks within a minute draw alike
        self._counts: Counter[str] = Counter()
        self._groups: set[str] = set()
        self.jobs = [item for item in line if item.pk not in kept][:MOST_LINE]
        self._waiting, self._usage = waiting, usage
        # at one moment: what is worked on later must not be of two
        self._fleet, self._held = copy_of(mirror.fleet), [tuple(rows.values()) for rows in mirror.held.values()]
        self._found = Run()

    def steps(self) -> Iterator[None]:
        jobs: dict[int, list[Held]] = {}
        for number, rows in enumerate(self._held):
            for row in rows:
                jobs.setdefault(row.job_id, []).append(row)
            if number % PART == 0:
                yield
        running = []
        for some in _parts(list(jobs), PART):
            facts = _facts(some)
            running += [self._ends(jobs[job], facts.get(job)) for job in some]
            yield
        facts = _facts([item.pk for item in self.jobs])
        waiting = [self._starts(item, facts.get(item.pk)) for item in self.jobs]
        yield
        for found in look_ahead(self._fleet, running, waiting, self._used(), RUNS, MOST_EVENTS):
            self._found = found
            yield

    @property
    def basis(self) -> Basis:
        count = self._counts
        return Basis(count["bounded"], count["seen"], count["unseen"], tuple(sorted(self._groups)))

    def estimates(self) -> dict[int, Estimate]:
        """By job."""
        horizon = self._found.horizon
        told = None if horizon == float("inf") else horizon
        return {job: Estimate(*range_of(starts), told) for job, starts in self._found.starts.items() if starts}

    def _ends(self, rows: list[Held], known: "_Facts | None") -> Ends:
        queue, tenant, project = rows[0].queue_id, rows[0].tenant_id, rows[0].project_id
        holds = tuple(row.hold for row in rows)
        share = sum(hold.share_bp for hold in holds)
        counted = tuple(
            Counted(name, amount)
            for name, amount in (
                (("queue", queue, "share_bp"), share),
                (("tenant", tenant, "share_bp"), share),
                (("project", project, "share_bp"), share),
                (("queue", queue, "running_jobs"), 1),
                (("project", project, "running_jobs"), 1),
                (("tenant", tenant, "running_jobs"), 1),
            )
        )
        if known is None or known.stopping:
            return Ends(holds, np.full(RUNS, STOPPING_S), counted)
        age = max(0.0, (self.now - known.placed_at).total_seconds())
        left = self._lasting(queue, tenant, known.share_bp, age) - age
        bound = np.inf if known.ends_by is None else max(0.0, (known.ends_by - self.now).total_seconds())
        self._counts["bounded" if bound < np.inf else "seen" if np.isfinite(left).any() else "unseen"] += 1
        return Ends(holds, np.minimum(left, bound), counted)

    def _starts(self, item: Waiting, known: "_Facts | None") -> Starts:
        lasts = self._lasting(item.queue_id, item.tenant_id, item.total_share_bp, 0.0)
        if known is not None and known.most is not None:
            lasts = np.minimum(lasts, known.most.total_seconds())
        project = self._waiting.projects.get(item.project_id)
        limits = limits_of(self._waiting.queues[item.queue_id], self._usage, project)
        counted = tuple(_counted(limit, item) for limit in limits)
        return Starts(item.pk, item.request, lasts, item.class_key(True), counted)

    def _lasting(self, queue: int, tenant: int, share_bp: int, age: float) -> Floats:
        found = self._spans.of(groups_of(queue, tenant, share_bp), age)
        if found is None:
            return np.full(RUNS, np.inf)
        name, survival = found
        self._groups.add(str(name[0]))  # type: ignore[index]
        return survival.lasting(age, self._rng.random(RUNS))

    def _used(self) -> dict[object, int]:
        """What limits have counted, by name."""
        usage = self._usage
        return {
            **{("queue", key, "share_bp"): used for key, used in usage.queue_bp.items()},
            **{("tenant", key, "share_bp"): used for key, used in usage.tenant_bp.items()},
            **{("project", key, "share_bp"): used for key, used in usage.project_bp.items()},
            **{("project", key, "running_jobs"): used for key, used in usage.project_jobs.items()},
            **{("queue", key, "running_jobs"): used for key, used in usage.queue_jobs.items()},
            **{("tenant", key, "running_jobs"): used for key, used in usage.tenant_jobs.items()},
        }


def range_of(starts: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """p10, p50 and p90."""
    ordered, end = sorted(starts), max(1, (len(starts) + 1) // 10)
    picked = ordered[end - 1], ordered[len(ordered) // 2], ordered[-end]
    early, middle, late = (None if value == float("inf") else value for value in picked)
    return early, middle, late


def _counted(limit: Limit, item: Waiting) -> Counted:
    owner = {"queue": item.queue_id, "project": item.project_id}.get(limit.scope, item.tenant_id)
    return Counted((limit.scope, owner, limit.kind), wanted_of(limit, item.total_share_bp), limit.limit)


def _parts(keys: list[int], size: int) -> Iterator[list[int]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))


@dataclass(frozen=True, slots=True)
class _Facts:
    placed_at: datetime
    ends_by: datetime | None
    most: timedelta | None
    share_bp: int
    stopping: bool


def _facts(jobs: list[int]) -> dict[int, _Facts]:
    """One query."""
    here, keys = sql.among("j.id", jobs)
    return {
        job: _Facts(
            placed_at=read_datetime(placed),
            ends_by=read_datetime(deadline) if deadline else None,
            most=read_duration(most),
            share_bp=share,
            stopping=state == "stopping",
        )
        for job, state, placed, deadline, most, share in sql.fetch(_JOBS.format(here=here), *keys)
    }


_JOBS = (
    "SELECT j.id, j.state, COALESCE(a.placed_at, j.queued_at), j.deadline_at, j.max_duration, j.total_share_bp"
    " FROM scheduling_job j LEFT JOIN scheduling_attempt a ON a.job_id = j.id AND a.number = j.attempt_count"
    " WHERE {here}"
)
