"""What queues held, wanted and were entitled to, kept for their history."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from pool.scheduling.models import QueueSample

if TYPE_CHECKING:  # it tells what is stored here
    from pool.scheduling.sharing.published import Line


def store_samples(lines: Iterable["Line"], at: datetime) -> None:
    """One a queue and five minutes: a second scheduler, or the same again, adds nothing."""
    rows = [
        QueueSample(
            queue_id=line.queue,
            at=at,
            used_bp=line.used["share_bp"],
            wanted_bp=line.wanted["share_bp"],
            entitled_bp=line.entitlement["share_bp"],
        )
        for line in lines
    ]
    if rows:
        QueueSample.objects.bulk_create(rows, ignore_conflicts=True)
