"""Keeps a demo that runs for days from filling the disk."""

from datetime import datetime, timedelta

import structlog

from console.demo.people import TENANTS
from console.tenants.models import Tenant
from pool.scheduling.services.pruning import prune_commands, prune_stories

log = structlog.get_logger("weir.demo")
KEEP_COMMANDS = timedelta(minutes=10)
KEEP_STORIES = timedelta(hours=6)


def tidy(now: datetime, most: int = 500) -> int:
    """Forgets closed commands after ten minutes, and timelines and decisions of finished demo jobs after six hours.

    What was billed stays: some 2 KB for each part of a card that a job held (12 in a usual one), its allocation,
    interval and usage with their indexes. Returns how many rows went.
    """
    demo = list(Tenant.objects.filter(slug__in=[tenant.slug for tenant in TENANTS]).values_list("pk", flat=True))
    gone = prune_commands(now - KEEP_COMMANDS, most) + prune_stories(demo, now - KEEP_STORIES, most)
    if gone:
        log.info("demo history pruned", rows=gone)
    return gone
