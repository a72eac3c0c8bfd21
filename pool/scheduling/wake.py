"""Wake-ups after commit. Each may be lost or doubled: the sweeps find the same work again."""

from collections.abc import Iterable
from functools import cache

import redis
import structlog
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

log = structlog.get_logger(__name__)


def scheduler(job_ids: Iterable[int] = (), node_ids: Iterable[int] = ()) -> None:
    """New or changed jobs, and nodes where capacity changed."""
    jobs, nodes = sorted(set(job_ids)), sorted(set(node_ids))
    transaction.on_commit(lambda: _send("wake", jobs, nodes))


def gateways(node_ids: Iterable[int]) -> None:
    """Nodes that have commands waiting in the outbox."""
    nodes = sorted(set(node_ids))
    if nodes:
        transaction.on_commit(lambda: _send("relay_commands", nodes))


def _send(name: str, *args: list[int]) -> None:
    from pool.scheduling import tasks  # Celery discovers tasks after the apps are ready

    if not _broker_is_there():
        log.warning("wake_not_sent", wake=name, error="Valkey does not answer")
        return
    try:
        getattr(tasks, name).apply_async(args=args, retry=False, expires=30)
    except OperationalError as error:
        log.warning("wake_not_sent", wake=name, error=str(error))


def _broker_is_there() -> bool:
    """Asks first: Celery itself tries for seven seconds, and whoever has just committed would wait for it."""
    try:
        return bool(_valkey().ping())
    except (redis.RedisError, OSError):
        return False


@cache
def _valkey() -> redis.Redis:
    once = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.5, retry=once)
