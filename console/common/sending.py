"""Celery messages that nobody waits for. Each may be lost or doubled: a sweep finds the same work again."""

from typing import Any

import redis
import structlog
from kombu.exceptions import OperationalError

from console.common import valkey

log = structlog.get_logger(__name__)
SECONDS = 30.0


def send(task: Any, *args: Any, expires: float = SECONDS) -> bool:
    """Whether it went out; without a broker it does not, at once, and says so in the log.

    `expires`: seconds after which the message is void. Call it from transaction.on_commit.
    """
    if not broker_is_there():
        log.warning("message_not_sent", task=task.name, error="Valkey does not answer")
        return False
    try:
        task.apply_async(args=args, retry=False, expires=expires)
    except OperationalError as error:
        log.warning("message_not_sent", task=task.name, error=str(error))
        return False
    return True


def broker_is_there() -> bool:
    """Asks first: Celery itself tries for seven seconds, and whoever has just committed would wait for it."""
    try:
        return bool(valkey.client().ping())
    except (redis.RedisError, OSError):
        return False
