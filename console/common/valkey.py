"""One client of Valkey a process, for small questions from any thread."""

from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry


def client(timeout_s: float = 0.5) -> redis.Redis:
    """Fails at once where Valkey is away: the library's own retries would hold up whoever asks."""
    return _client(settings.REDIS_URL, timeout_s)


@cache
def _client(url: str, timeout_s: float) -> redis.Redis:
    once = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=min(0.5, timeout_s), retry=once)
