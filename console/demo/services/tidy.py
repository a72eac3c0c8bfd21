"""Keeps a demo that runs for days from filling the disk."""

from datetime import datetime, timedelta

import structlog

from console.demo.people import TENANTS
from console.tenants.models import Tenant
from pool.scheduling.services.pruning import prune_commands, prune_stories

log = structlog.get_logger("weir.demo")
KEEP_COMMANDS = timedelta(hours=1)
KEEP_STORIES = timedelta(hours=6)


def tidy(now: datetime, most: int = 500) -> int:
    """Forgets closed commands after an hour, and timelines and decisions of finished demo jobs after six.

    What was billed stays: jobs, allocations and intervals, some 15 KB a job. Returns how many rows went.
    """
    demo = list(Tenant.objects.filter(slug__in=[tenant.slug for tenant in TENANTS]).values_list("pk", flat=True))
    gone = prune_commands(now - KEEP_COMMANDS, most) + prune_stories(demo, now - KEEP_STORIES, most)
    if gone:
        log.info("demo history pruned", rows=gone)
    return gone
