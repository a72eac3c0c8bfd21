"""How long work lasted lately, by queue and size, queue, tenant, and in the whole pool."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from console.common import sql
from console.common.bulk import read_datetime
from pool.engine.ahead import Spans
from pool.scheduling.states import StopReason

LATEST, PART = 4_096, 128  # attempts, and those that are read at once
LOOK_BACK = timedelta(days=28)
# ends that say nothing of how long the work takes
_OUTSIDE = {StopReason.PREEMPT.value, StopReason.MOVE.value, StopReason.REQUEUE.value, StopReason.GANG.value, "lost"}
CLASS, QUEUE, TENANT, POOL = "class", "queue", "tenant", "pool"  # the narrowest first

_ATTEMPTS = (
    "SELECT a.id, j.queue_id, j.tenant_id, j.total_share_bp, a.placed_at, a.ended_at, a.outcome"
    " FROM scheduling_attempt a"
    " JOIN scheduling_job j ON j.id = a.job_id WHERE a.id < %s"
    " ORDER BY a.id DESC LIMIT %s"
)


def read_spans(now: datetime) -> Iterator[Spans | None]:
    """What still runs counts as lasting longer; so does what ended for another reason than its own. Yields None after
    each part, at last the whole: whoever drives may do something else in between."""
    groups: dict[object, list[tuple[float, bool]]] = {}
    last: int | None = None
    for _ in range(LATEST // PART):
        rows = sql.fetch(_ATTEMPTS, 2**62 if last is None else last, PART)
        for pk, queue, tenant, share, placed, ended, outcome in rows:
            last, began = pk, read_datetime(placed)
            if now - began > LOOK_BACK:
                continue
            until = read_datetime(ended) if ended else now
            span = (max(0.0, (until - began).total_seconds()), bool(ended) and outcome not in _OUTSIDE)
            for name in groups_of(queue, tenant, share):
                groups.setdefault(name, []).append(span)
        yield None
        if len(rows) < PART:
            break
    yield Spans(groups.items())


def groups_of(queue: int, tenant: int, share_bp: int) -> Iterable[tuple[Any, ...]]:
    """The groups that work belongs to."""
    return (CLASS, queue, share_bp), (QUEUE, queue), (TENANT, tenant), (POOL,)
