"""Telemetry of the past: one packed row a node and period."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pool.nodes.models import LogChunk, NodeRollup
from pool.scheduling.states import JOB_FINAL

KEEP_ROLLUPS = timedelta(days=14)
KEEP_LOGS = timedelta(days=30)
BATCH = 200


def store_rollups(rows: Sequence[NodeRollup]) -> None:
    """Unsaved rows of one period; those that are there already stay as they are. Keep batches small."""
    NodeRollup.objects.bulk_create(rows, ignore_conflicts=True)


def prune_rollups(now: datetime, batches: int = 500) -> int:
    """Deletes rollups past their time, a short transaction each batch. Returns how many."""
    return _prune(NodeRollup.objects.filter(starts_at__lt=now - KEEP_ROLLUPS), batches)


def prune_logs(now: datetime, batches: int = 500) -> int:
    """Deletes output of jobs that ended long ago. Returns how many chunks."""
    old = LogChunk.objects.filter(replica__job__state__in=JOB_FINAL, replica__job__finished_at__lt=now - KEEP_LOGS)
    return _prune(old, batches)


def _prune(rows, batches: int) -> int:  # type: ignore[no-untyped-def]
    gone = 0
    for _ in range(batches):
        ids = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not ids:
            break
        gone += rows.model.objects.filter(pk__in=ids).delete()[0]
    return gone
