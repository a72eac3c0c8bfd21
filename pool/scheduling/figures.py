"""Figures that only the scheduler can tell, handed to the pages through the cache.

It alone has the fleet in memory: a page that built one to measure it would stop a web process for a moment.
"""

import time

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from pool.engine import fragmentation
from pool.engine.fleet import Fleet

log = structlog.get_logger(__name__)
_KEY = "scheduling:fragmentation"
_PERIOD_S = 5.0
_KEEP_S = 60


class Publisher:
    """Called after each sweep; works every few seconds."""

    def __init__(self) -> None:
        self._due = 0.0

    def publish(self, fleet: Fleet) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _PERIOD_S
        try:
            cache.set(_KEY, round(fragmentation(fleet) * 10_000), _KEEP_S)
        except (RedisError, OSError) as error:
            log.warning("figures_not_published", error=str(error))


def fragmentation_bp() -> int | None:
    """Share of the open capacity that is free but of no use to a typical request, in basis points.

    None while no scheduler has told it within the last minute.
    """
    try:
        value: int | None = cache.get(_KEY)
    except (RedisError, OSError) as error:
        log.warning("figures_not_read", error=str(error))
        return None
    return value
