"""Telemetry of the past: one packed row a node and period. And what is deleted when its time is over."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from pool.nodes.models import JoinToken, LogChunk, NodeRollup
from pool.nodes.services.short import write_at_once
from pool.scheduling.states import JOB_FINAL

KEEP_ROLLUPS = timedelta(days=14)
KEEP_LOGS = timedelta(days=30)
KEEP_TOKENS = timedelta(days=30)
BATCH = 200
Stop = Callable[[], bool]


def never() -> bool:
    return False


def store_rollups(rows: Sequence[NodeRollup]) -> None:
    """Unsaved rows of one period; those that are there already stay as they are. Keep batches small."""
    adapt = connection.ops.adapt_datetimefield_value
    places = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
    columns = "node_id, period_s, starts_at, payload"
    statement = f"INSERT INTO nodes_noderollup ({columns}) VALUES {places} ON CONFLICT DO NOTHING"  # noqa: S608
    values = [v for row in rows for v in (row.node_id, row.period_s, adapt(row.starts_at), row.payload)]
    write_at_once("store_rollups", statement, values)


def prune_rollups(now: datetime, stop: Stop = never) -> int:
    """Deletes rollups past their time, a short transaction a batch, until `stop`. Returns how many."""
    return _prune(NodeRollup.objects.filter(starts_at__lt=now - KEEP_ROLLUPS), stop)


def prune_logs(now: datetime, stop: Stop = never) -> int:
    """Deletes output of jobs that ended long ago. Returns how many chunks."""
    jobs = Q(replica__job__state__in=JOB_FINAL, replica__job__finished_at__lt=now - KEEP_LOGS)
    return _prune(LogChunk.objects.filter(jobs), stop)


def prune_tokens(now: datetime, stop: Stop = never) -> int:
    """Deletes join tokens that have let nobody in for long; the audit log keeps what they were."""
    return _prune(JoinToken.objects.filter(expires_at__lt=now - KEEP_TOKENS), stop)


def _prune(rows: QuerySet[Any], stop: Stop) -> int:
    gone = 0
    while not stop():
        ids = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not ids:
            break
        gone += rows.model.objects.filter(pk__in=ids).delete()[0]
    return gone
