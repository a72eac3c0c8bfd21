"""When what runs ends at the latest."""

from collections.abc import Collection
from datetime import datetime

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from pool.engine.calendar import Ending
from pool.engine.types import Hold
from pool.scheduling import ports
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import Job
from pool.scheduling.services.stopping import GRACE_S

STOPS_S = 15  # from the end of a job's time to the end of its processes: the grace, and the news of it


def endings(mirror: FleetMirror, now: datetime, assumed_s: int | None) -> list[Ending]:
    """Of all jobs that hold something: by their time limit, by what is predicted of them, or as is assumed of those
    that nothing ends (never sooner than half of that from now); with None those never end. Two queries."""
    held: dict[int, list[Hold]] = {}
    for rows in mirror.held.values():
        for row in rows.values():
            held.setdefault(row.job_id, []).append(row.hold)
    known = ends_of(held, now)
    found = []
    for job, holds in held.items():
        end, started = known.get(job, (None, now))
        if end is not None:
            found.append(Ending(job, end, tuple(holds)))
        elif assumed_s is not None:
            late = int(now.timestamp()) + assumed_s // 2
            found.append(Ending(job, max(int(started.timestamp()) + assumed_s, late), tuple(holds), sure=False))
    return found


def ends_of(jobs: Collection[int], now: datetime) -> dict[int, tuple[int | None, datetime]]:
    """By job: the second by which it has ended (None: nothing says so), and when its attempt began."""
    if not jobs:
        return {}
    here, keys = sql.among("j.id", list(jobs))
    bounds = ports.run_bounds(list(jobs))
    found: dict[int, tuple[int | None, datetime]] = {}
    for job, state, deadline, limit, finish_by, started, placed in sql.fetch(_ENDS.format(here=here), *keys):
        began = read_datetime(started if started is not None else placed)
        duration = read_duration(limit)
        if state == "stopping":
            found[job] = (int(now.timestamp()) + STOPS_S, began)
            continue
        ends = [read_datetime(at).timestamp() for at in (deadline, finish_by) if at is not None]
        if started is None and duration is not None:  # its time runs from its first process
            ends.append((now + duration).timestamp())
        if not ends and job in bounds:
            ends.append(max(began.timestamp() + bounds[job], now.timestamp()))
        found[job] = (int(min(ends)) + STOPS_S if ends else None, began)
    return found


def leaving_s(jobs: Collection[int]) -> dict[int, int]:
    """By job: seconds from when it is told to stop until it has, at most: time to save, if it asked for it, and the
    grace. One query."""
    if not jobs:
        return {}
    rows = Job.objects.filter(pk__in=list(jobs)).values_list("pk", "spec__checkpoint__grace_s")
    return {pk: GRACE_S + int(saving or 0) for pk, saving in rows}


_ENDS = (
    "SELECT j.id, j.state, j.deadline_at, j.max_duration, j.finish_by, j.started_at, a.placed_at FROM scheduling_job j"
    " JOIN scheduling_attempt a ON a.job_id = j.id AND a.number = j.attempt_count WHERE {here}"
)
