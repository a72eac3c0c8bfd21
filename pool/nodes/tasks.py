"""Celery tasks of this room. Run twice, or killed half-way, nothing is wrong: the next one goes on."""

import time

import structlog
from celery import shared_task

from console.common import clock
from pool.nodes import services

log = structlog.get_logger(__name__)
BUDGET_S = 30  # well below the task time limit


@shared_task(name="pool.nodes.tasks.prune")
def prune() -> None:
    """Deletes old telemetry, output and join tokens in short transactions; what is left waits for the next hour."""
    deadline = time.monotonic() + BUDGET_S
    now = clock.now()

    def stop() -> bool:
        return time.monotonic() > deadline

    gone = {
        "rollups": services.prune_rollups(now, stop),
        "output": services.prune_logs(now, stop),
        "join_tokens": services.prune_tokens(now, stop),
    }
    if any(gone.values()):
        log.info("pruned", **gone)
