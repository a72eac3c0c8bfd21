"""Celery tasks of the furniture. Run twice or never, nothing changes but what has expired already."""

from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore

from console.common import clock, idempotency


@shared_task(name="console.common.tasks.prune")
def prune() -> int:
    """Deletes idempotency keys and sessions that have expired; the number of keys deleted."""
    SessionStore.clear_expired()
    return idempotency.purge(clock.now())
