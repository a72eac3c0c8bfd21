"""Celery tasks of this room. They carry row ids; run twice or never, the state stays right."""

import json
from datetime import timedelta

import redis
from celery import shared_task
from django.conf import settings

from console.common import clock
from pool.scheduling.services.pruning import prune_commands

COMMANDS_CHANNEL = "weir:commands"
KEEP_COMMANDS = timedelta(days=1)
BATCHES = 200  # a run: well within the time limit of a task; the next one goes on


@shared_task(name="pool.scheduling.tasks.wake")
def wake(job_ids: list[int], node_ids: list[int]) -> None:
    """Runs in the scheduler process that holds the lease: hands the ids to its loop."""
    from pool.scheduling.worker import running_loop

    loop = running_loop()
    if loop is not None:
        loop.hint(job_ids, node_ids)


@shared_task(name="pool.scheduling.tasks.relay_commands")
def relay_commands(node_ids: list[int]) -> None:
    """Tells the gateways which nodes have commands waiting; they claim the rows themselves."""
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
        client.publish(COMMANDS_CHANNEL, json.dumps(node_ids))


@shared_task(name="pool.scheduling.tasks.prune")
def prune() -> None:
    """Forgets commands of replicas that ended a day ago: what was held stays in allocations and intervals."""
    before = clock.now() - KEEP_COMMANDS
    for _ in range(BATCHES):
        if not prune_commands(before):
            break
