"""GET /healthz: does this process reach its database and its Valkey? For supervisors and load balancers."""

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@login_not_required
@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 {"database": "ok", "valkey": "ok"}, or 503 with "down" for what does not answer. Says nothing else."""
    state = {"database": _database(), "valkey": _valkey()}
    return JsonResponse(state, status=200 if set(state.values()) == {"ok"} else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except Error:
        return "down"
    return "ok"


def _valkey() -> str:
    try:
        ask_valkey(1)
    except redis.RedisError:
        return "down"
    return "ok"


def ask_valkey(seconds: float = 5) -> None:
    """Raises redis.RedisError, which names the server, when the one of REDIS_URL does not answer."""
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=seconds, socket_connect_timeout=seconds) as client:
        client.ping()
