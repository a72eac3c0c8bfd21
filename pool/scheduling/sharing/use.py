"""What queues and projects have used: complete hours from the copy, the rest from the intervals themselves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Max, Sum

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from pool.engine.sharing import Weights
from pool.scheduling.models import UseHour

HOUR = timedelta(hours=1)
Key = tuple[int, int, str]  # queue, project, model


@dataclass(frozen=True, slots=True)
class Used:
    """Units as of the engine (basis points x weight of the model) x seconds, held within [at, until)."""

    queue: int
    project: int
    at: datetime
    until: datetime
    unit_s: int


def hour_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def used(start: datetime, now: datetime, weights: Weights) -> list[Used]:
    """All use from `start` to `now`, each line within one hour. Four queries at most."""
    copied, pieces = _parts(start, now)
    rows = UseHour.objects.filter(at__gte=copied[0], at__lt=copied[1]).values_list(
        "at", "queue_id", "project_id", "model_name", "share_s"
    )
    found = [_line(at, (queue, project, model), share, now, weights) for at, queue, project, model, share in rows]
    return found + [
        replace(_line(at, key, share, now, weights), at=max(at, piece[0]))
        for piece in pieces
        for (at, key), share in share_seconds(*piece).items()
    ]


def total(start: datetime, now: datetime, weights: Weights) -> list[Used]:
    """The same, a line a queue, project and model. Four queries at most, whose answers do not grow with time."""
    copied, pieces = _parts(start, now)
    sums: dict[Key, int] = {}
    rows = UseHour.objects.filter(at__gte=copied[0], at__lt=copied[1]).order_by()
    for queue, project, model, share in rows.values_list("queue_id", "project_id", "model_name").annotate(
        all=Sum("share_s")
    ):
        sums[queue, project, model] = share
    for piece in pieces:
        for (_at, key), share in share_seconds(*piece).items():
            sums[key] = sums.get(key, 0) + share
    return [_line(start, key, share, now, weights) for key, share in sums.items()]


def _parts(start: datetime, now: datetime) -> tuple[tuple[datetime, datetime], list[tuple[datetime, datetime]]]:
    """The whole hours that are read from the copy, and what is read from intervals: the hour in which the time begins,
    and what follows the copy. An hour of the copy counts only once a later one is there."""
    newest = UseHour.objects.aggregate(at=Max("at"))["at"]
    first = hour_of(start) if hour_of(start) == start else hour_of(start) + HOUR
    last = first if newest is None else max(first, min(newest, hour_of(now)))
    return (first, last), [(start, min(first, now)), (last, now)]


def _line(at: datetime, key: Key, share_s: int, now: datetime, weights: Weights) -> Used:
    return Used(key[0], key[1], at, min(at + HOUR, now), share_s * weights.of(key[2]))


def share_seconds(start: datetime, until: datetime) -> dict[tuple[datetime, Key], int]:
    """Basis-point-seconds by hour and key that intervals held within [start, until). One query."""
    totals: dict[tuple[datetime, Key], float] = {}
    if until <= start:
        return {}
    for queue, project, model, share, began, ended in sql.fetch(_OVERLAPPING, start, until):
        first = max(read_datetime(began), start)
        last = min(read_datetime(ended), until) if ended is not None else until
        for at, seconds in by_hour(first, last):
            key = (at, (queue, project, model))
            totals[key] = totals.get(key, 0.0) + share * seconds
    return {key: round(total) for key, total in totals.items()}


# what closed before the start ended before it; the index of closed_at finds the rest
_OVERLAPPING = (
    "SELECT queue_id, project_id, model_name, share_bp, started_at, ended_at FROM scheduling_interval"
    " WHERE (closed_at IS NULL OR closed_at >= %s) AND started_at < %s"
)


def by_hour(start: datetime, until: datetime) -> Iterator[tuple[datetime, float]]:
    """The hours that a time lies in, with its seconds in each."""
    at = hour_of(start)
    while start < until:
        end = min(at + HOUR, until)
        yield at, (end - start).total_seconds()
        start, at = end, at + HOUR


@dataclass(frozen=True, slots=True)
class Reserved:
    """A live job, and what it may still use until its time is over (0 without a time limit), in unit-seconds."""

    job: int
    queue: int
    project: int
    units: int
    unit_s: int


def reserved(now: datetime, weights: Weights) -> list[Reserved]:
    """Of all jobs that hold cards. One query."""
    lines: dict[int, tuple[Any, ...]] = {}
    units: dict[int, int] = {}
    for job, queue, project, share, model, ends, limit, started in sql.fetch(_LIVE):
        lines[job] = (queue, project, ends, limit, started)
        units[job] = units.get(job, 0) + share * weights.of(model)
    return [
        Reserved(job, queue, project, units[job], units[job] * _left_s(ends, limit, started, now))
        for job, (queue, project, ends, limit, started) in sorted(lines.items())
    ]


def _left_s(ends: Any, limit: Any, started: Any, now: datetime) -> int:
    duration = read_duration(limit)
    if duration is not None and started is None:  # its time runs from its first process
        return int(duration.total_seconds())
    if ends is None:
        return 0
    return max(0, int((read_datetime(ends) - now).total_seconds()))


_LIVE = (
    "SELECT j.id, j.queue_id, j.project_id, a.share_bp, m.name, j.deadline_at, j.max_duration, j.started_at"
    " FROM scheduling_allocation a JOIN scheduling_job j ON j.id = a.job_id"
    " JOIN inventory_device d ON d.id = a.device_id JOIN inventory_devicemodel m ON m.id = d.model_id"
    " WHERE a.released_at IS NULL"
)
