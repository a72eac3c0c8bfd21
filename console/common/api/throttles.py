"""A fixed one-minute window a caller, counted in Valkey."""

import time
from typing import TYPE_CHECKING

import structlog
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from console.common import valkey

if TYPE_CHECKING:  # DRF reads this module while it imports its own views
    from rest_framework.views import APIView

log = structlog.get_logger("weir.api")
_PERIODS = {"s": 1, "m": 60, "h": 3600}


class ActorThrottle(BaseThrottle):
    """`DEFAULT_THROTTLE_RATES["actor"]`, e.g. "6000/min". One counter, not a list of times: O(1) a call."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        actor = request._request.actor  # type: ignore[attr-defined]
        if actor is None:  # HasActor refuses it
            return True
        amount, period = _rate(str(api_settings.DEFAULT_THROTTLE_RATES["actor"]))
        now = time.time()
        self._wait = period - now % period
        key = f"weir:throttle:{actor.ident}:{actor.via}:{int(now // period)}".replace(" ", "-")
        try:
            return _count(key, period) <= amount
        except RedisError as error:
            # a fair-use limit, not a lock: the API stays up while Valkey is away
            log.warning("throttle skipped", reason=type(error).__name__)
            return True

    def wait(self) -> float:
        return max(1.0, self._wait)


def _count(key: str, period: int) -> int:
    """One round trip; not Django's cache, which needs two and a connection a thread."""
    with valkey.client().pipeline(transaction=False) as pipe:
        pipe.incr(key)
        pipe.expire(key, period + 5, nx=True)
        return int(pipe.execute()[0])


def _rate(text: str) -> tuple[int, int]:
    amount, _, period = text.partition("/")
    return int(amount), _PERIODS[period[0]]
