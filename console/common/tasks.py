"""Celery tasks of the furniture. Run twice or never, nothing changes but what has expired already."""

from celery import shared_task
from django.contrib.sessions.models import Session

from console.common import clock, idempotency


@shared_task(name="console.common.tasks.prune")
def prune() -> int:
    """Deletes idempotency keys and sessions that have expired; the number of keys deleted."""
    now = clock.now()
    Session.objects.filter(expire_date__lt=now).delete()
    return idempotency.purge(now)
