"""Forgets what nobody needs any more. Jobs, allocations and intervals stay: they are what was billed."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from pool.scheduling.models import Decision, FragmentationSample, JobEvent, NodeCommand, QueueSample, UseHour
from pool.scheduling.states import REPLICA_FINAL

CLOSED = (NodeCommand.State.DONE, NodeCommand.State.FAILED, NodeCommand.State.OBSOLETE)


def prune_commands(before: datetime, most: int = 500) -> int:
    """Deletes at most `most` closed commands of replicas that ended before then; returns how many.

    Small batches, oldest first: a writer that waits for one waits for milliseconds. Run twice: the rest.
    """
    old = NodeCommand.objects.filter(
        created_at__lt=before, state__in=CLOSED, replica__state__in=REPLICA_FINAL, replica__ended_at__lt=before
    )
    return _delete(old, most)


def prune_samples(before: datetime, most: int = 500) -> int:
    """Deletes at most `most` samples of what queues held, from before then; returns how many."""
    return _delete(QueueSample.objects.filter(at__lt=before), most)


def prune_fragmentation(before: datetime, most: int = 500) -> int:
    """Deletes at most `most` samples of fragmentation from before then; returns how many."""
    return _delete(FragmentationSample.objects.filter(at__lt=before), most)


def prune_use(before: datetime, most: int = 500) -> int:
    """Deletes at most `most` hours of the copy of what was held, from before then; returns how many."""
    return _delete(UseHour.objects.filter(at__lt=before), most)


def prune_stories(tenants: Collection[int], before: datetime, most: int = 500) -> int:
    """Deletes decisions and timeline of jobs of these tenants that finished before then; returns how many rows.

    For throw-away work such as the demo's: a person's jobs keep their story.
    """
    where = {"at__lt": before, "job__finished_at__lt": before, "job__tenant__in": tenants}
    return _delete(JobEvent.objects.filter(**where), most) + _delete(Decision.objects.filter(**where), most)


def _delete(
    rows: QuerySet[JobEvent]
    | QuerySet[Decision]
    | QuerySet[NodeCommand]
    | QuerySet[QueueSample]
    | QuerySet[UseHour]
    | QuerySet[FragmentationSample],
    most: int,
) -> int:
    oldest = list(rows.order_by("pk").values_list("pk", flat=True)[:most])
    if not oldest:
        return 0
    _, each = rows.model._default_manager.filter(pk__in=oldest).delete()
    return each.get(rows.model._meta.label, 0)
