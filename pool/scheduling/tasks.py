"""Celery tasks of this room. They carry row ids; run twice or never, the state stays right."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from console.common import clock, ids, lease
from pool.scheduling.defrag import planner
from pool.scheduling.services.budgets import warn_of_budgets
from pool.scheduling.services.ledger import prune_ledger
from pool.scheduling.services.pruning import prune_commands, prune_fragmentation, prune_samples, prune_use
from pool.scheduling.services.use import MOST_DAYS, fold_use

KEEP_COMMANDS, KEEP_SAMPLES = timedelta(days=1), timedelta(days=35)
BATCHES = 200  # a run: well within the time limit of a task; the next one goes on


@shared_task(name="pool.scheduling.tasks.prune")
def prune() -> None:
    """Forgets commands of replicas that ended a day ago: what was held stays in allocations and intervals.

    And what queues held, and how fragmented the pool was, at moments of more than five weeks ago, what was held in
    hours of more than 13 months ago, and what decisions were made on that are older than the setting says.
    """
    now, days = clock.now(), timedelta(days=settings.WEIR_LEDGER_DAYS)
    for _ in range(BATCHES):
        gone = prune_commands(now - KEEP_COMMANDS) + prune_samples(now - KEEP_SAMPLES)
        gone += prune_fragmentation(now - KEEP_SAMPLES)
        if not gone + prune_use(now - timedelta(days=MOST_DAYS)) + prune_ledger(now - days):
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


@shared_task(name="pool.scheduling.tasks.fold_use")
def fold() -> None:
    """Copies what was held by hours, and tells whose budget goes to its end."""
    now = clock.now()
    fold_use(now)
    warn_of_budgets(now)
