"""How long work lasted lately, by queue and size, queue, tenant, and in the whole pool."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from console.common import sql
from console.common.bulk import read_datetime
from pool.engine.ahead import Spans
from pool.scheduling.states import StopReason

LATEST = 5_000  # attempts
LOOK_BACK = timedelta(days=28)
# ends that say nothing of how long the work takes
_OUTSIDE = {StopReason.PREEMPT.value, StopReason.MOVE.value, StopReason.REQUEUE.value, StopReason.GANG.value, "lost"}
CLASS, QUEUE, TENANT, POOL = "class", "queue", "tenant", "pool"  # the narrowest first

_ATTEMPTS = (
    "SELECT j.queue_id, j.tenant_id, j.total_share_bp, a.placed_at, a.ended_at, a.outcome FROM scheduling_attempt a"
    " JOIN scheduling_job j ON j.id = a.job_id ORDER BY a.id DESC LIMIT %s"
)


def read_spans(now: datetime) -> Spans:
    """One query. What still runs counts as lasting longer; so does what ended for another reason than its own."""
    groups: dict[object, list[tuple[float, bool]]] = {}
    for queue, tenant, share, placed, ended, outcome in sql.fetch(_ATTEMPTS, LATEST):
        began = read_datetime(placed)
        if now - began > LOOK_BACK:
            continue
        until = read_datetime(ended) if ended else now
        span = (max(0.0, (until - began).total_seconds()), bool(ended) and outcome not in _OUTSIDE)
        for name in groups_of(queue, tenant, share):
            groups.setdefault(name, []).append(span)
    return Spans(groups.items())


def groups_of(queue: int, tenant: int, share_bp: int) -> Iterable[tuple[Any, ...]]:
    """The groups that work belongs to."""
    return (CLASS, queue, share_bp), (QUEUE, queue), (TENANT, tenant), (POOL,)
