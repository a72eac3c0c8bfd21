"""Celery tasks of this room. They carry row ids; run twice or never, the state stays right."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from console.common import clock, ids, lease
from pool.scheduling.defrag import planner
from pool.scheduling.services.ledger import prune_ledger
from pool.scheduling.services.pruning import prune_commands, prune_fragmentation, prune_samples

KEEP_COMMANDS, KEEP_SAMPLES = timedelta(days=1), timedelta(days=35)
BATCHES = 200  # a run: well within the time limit of a task; the next one goes on


@shared_task(name="pool.scheduling.tasks.prune")
def prune() -> None:
    """Forgets commands of replicas that ended a day ago: what was held stays in allocations and intervals.

    And what queues held, and how fragmented the pool was, at moments of more than five weeks ago, and what decisions
    were made on that are older than the setting says.
    """
    now, days = clock.now(), timedelta(days=settings.WEIR_LEDGER_DAYS)
    for _ in range(BATCHES):
        gone = prune_commands(now - KEEP_COMMANDS) + prune_ledger(now - days)
        gone += prune_samples(now - KEEP_SAMPLES) + prune_fragmentation(now - KEEP_SAMPLES)
        if not gone:
            break


@shared_task(name="pool.scheduling.tasks.defragment")
def defragment() -> None:
    """Measures fragmentation and makes the plan that is due or was asked for; one worker at a time does.

    A lease, so that two that were told at once do not read the whole fleet both: who comes second has nothing to do.
    """
    holder, name = ids.make("h"), f"defrag.{settings.WEIR_CELL}"
    if lease.acquire(name, holder, timedelta(seconds=60), clock.now()) is None:
        return
    try:
        planner.work(clock.now())
    finally:
        lease.release(name, holder)
