"""Wake-ups after commit. Each may be lost or doubled: the sweeps find the same work again.

A list and a channel of Valkey, not Celery messages: a message of Celery cost sender and receiver two milliseconds
of CPU each, more than the decision that it asked for (docs/decisions/0007-wake-ups.md).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
import redis
import structlog
from django.conf import settings
from django.db import transaction

from console.common import valkey

log = structlog.get_logger(__name__)

COMMANDS_CHANNEL = "weir:commands"
MOST = 4096  # hints kept while no scheduler takes them: whoever starts reads everything anyway
_AT_ONCE = 256
_PATIENCE_S = 5.0  # longer than any wait for a hint
AWAY = (redis.RedisError, OSError)


@dataclass
class Hints:
    """What changed. Empty: nothing was heard in the time."""

    jobs: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    queues: bool = False

    def __bool__(self) -> bool:
        return bool(self.jobs or self.nodes or self.queues)


def scheduler(job_ids: Iterable[int] = (), node_ids: Iterable[int] = (), queues: bool = False) -> None:
    """New or changed jobs, nodes where capacity changed, and whether a queue's state or limits did."""
    hint = orjson.dumps([sorted(set(job_ids)), sorted(set(node_ids)), queues])
    transaction.on_commit(lambda: _send("scheduler", hint))


def gateways(node_ids: Iterable[int]) -> None:
    """Nodes that have commands waiting in the outbox."""
    nodes = sorted(set(node_ids))
    if nodes:
        transaction.on_commit(lambda: _send("gateways", orjson.dumps(nodes)))


def receive(seconds: float) -> Hints:
    """Waits at most so long for a first hint, and takes with it all that have come. Raises AWAY."""
    heard: Any = valkey.client(_PATIENCE_S).blmpop(
        max(0.001, seconds), 1, hints_key(), direction="LEFT", count=_AT_ONCE
    )
    return _read_all(heard[1] if heard else [])


def pending() -> Hints:
    """What has come, without waiting. Raises AWAY."""
    heard: Any = valkey.client(_PATIENCE_S).lpop(hints_key(), _AT_ONCE)
    return _read_all(heard or [])


def hints_key() -> str:
    return f"weir:wake:{settings.WEIR_CELL}"


def _read_all(heard: Iterable[bytes]) -> Hints:
    hints = Hints()
    for data in heard:
        _read(hints, data)
    return hints


def _read(hints: Hints, data: bytes) -> None:
    try:
        jobs, nodes, queues = orjson.loads(data)
    except (orjson.JSONDecodeError, TypeError, ValueError):
        log.warning("wake_not_understood", data=data[:80])
        return
    hints.jobs.update(jobs)
    hints.nodes.update(nodes)
    hints.queues = hints.queues or bool(queues)


def _send(to: str, data: bytes) -> None:
    try:
        _SENDERS[to](data)
    except AWAY as error:
        log.warning("wake_not_sent", to=to, error=str(error))


def _to_scheduler(data: bytes) -> None:
    client = valkey.client()
    if int(client.rpush(hints_key(), data)) > MOST:
        client.ltrim(hints_key(), -MOST, -1)


def _to_gateways(data: bytes) -> None:
    valkey.client().publish(COMMANDS_CHANNEL, data)


_SENDERS: dict[str, Callable[[bytes], None]] = {"scheduler": _to_scheduler, "gateways": _to_gateways}
