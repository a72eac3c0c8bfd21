"""Celery: carries row ids only. The database is the truth, so a lost or doubled message harms nothing."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_ready
from kombu import Exchange, Queue

from console.common import memory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

# name, task, seconds, arguments. Each task is idempotent: a run too many or too few changes nothing but delay
PERIODIC: list[tuple[str, str, int, dict[str, Any]]] = [
    ("meter what closed", "billing.metering.tasks.wake", 60, {}),
    ("meter everything due", "billing.metering.tasks.sweep", 3600, {}),
    ("meter, looking at all", "billing.metering.tasks.sweep", 86_400, {"full": True}),
    ("draft invoices", "billing.invoices.tasks.draft_last_month", 86_400, {}),
    ("check the books", "billing.invoices.tasks.check_books", 86_400, {}),
    ("prune expired keys and sessions", "console.common.tasks.prune", 3600, {}),
    ("prune commands", "pool.scheduling.tasks.prune", 3600, {}),
    ("measure fragmentation, plan moves", "pool.scheduling.tasks.defragment", 60, {}),
    ("copy use by hours, watch budgets", "pool.scheduling.tasks.fold_use", 300, {}),
    ("prune telemetry and output", "pool.nodes.tasks.prune", 3600, {}),
]


def _every(task: str, seconds: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """Expires before the next one is due, so that an outage of the workers leaves no backlog."""
    return {"task": task, "schedule": seconds, "kwargs": arguments, "options": {"expires": seconds * 0.9}}


app = Celery("weir")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    task_default_queue="default",
    task_create_missing_queues=False,
    task_queues=[Queue("default", Exchange("default"), routing_key="default")],
    # no task runs longer than this; a message of a dead worker is seen again after it
    task_time_limit=50,
    broker_transport_options={
        "visibility_timeout": 60,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "polling_interval": 1,
        "socket_keepalive": True,
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    worker_disable_rate_limits=True,
    worker_enable_remote_control=False,
    beat_scheduler="console.beat:LeasedScheduler",
    beat_schedule={name: _every(task, seconds, given) for name, task, seconds, given in PERIODIC},
    timezone="UTC",
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Celery would replace the handlers that Django has set."""


@worker_ready.connect
def _settle_memory(**_: object) -> None:
    """What is loaded by now stays: a worker that shares cores with the scheduler must not walk it again."""
    memory.settle()
