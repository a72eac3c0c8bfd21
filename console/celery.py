"""Celery: carries row ids only. The database is the truth, so a lost or doubled message harms nothing."""

import os

from celery import Celery
from celery.signals import setup_logging
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("weir")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    task_default_queue="default",
    task_create_missing_queues=False,
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in ("default", "control", "wake")],
    task_routes={
        "pool.scheduling.tasks.wake": {"queue": "wake"},
        "pool.scheduling.tasks.relay_commands": {"queue": "control"},
    },
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
    beat_schedule_filename=None,
    timezone="UTC",
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Celery would replace the handlers that Django has set."""
