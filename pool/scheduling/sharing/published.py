"""How queues stand, told by the scheduler, which alone knows: to the pages through the cache, to history in samples."""

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from pool.engine.sharing import Amounts, Standing
from pool.engine.sharing.amounts import PLAIN
from pool.scheduling.services.samples import store_samples
from pool.scheduling.sharing.layout import queue_of
from pool.scheduling.sharing.state import Sharing

log = structlog.get_logger(__name__)
_KEY = "scheduling:standings"
_PERIOD_S = 2.0
_KEEP_S = 60
SAMPLE = timedelta(minutes=5)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RESOURCES = ("share_bp", "gpu_memory_mib", "cpu_milli", "memory_mib")


@dataclass(frozen=True, slots=True)
class Line:
    """One queue by its key. Each amount by resource: share_bp (of a reference card), gpu_memory_mib, cpu_milli,
    memory_mib. `bound`: why not more (engine: sharing.explain.Bound), `of`: the queue whose doing it is, or 0."""

    queue: int
    quota: dict[str, int]
    used: dict[str, int]
    wanted: dict[str, int]
    deserved: dict[str, int]
    entitlement: dict[str, int]
    bound: str
    resource: str
    of: int

    @classmethod
    def from_engine(cls, line: Standing) -> "Line":
        return cls(
            queue=queue_of(line.queue),
            quota=told(line.quota),
            used=told(line.used),
            wanted=told(line.demand),
            deserved=told(line.deserved),
            entitlement=told(line.entitlement),
            bound=line.bound.kind,
            resource=_NAMES[line.bound.resource],
            of=queue_of(line.bound.queue),
        )


_NAMES = {"": "", "gpu": "share_bp", "gpu_memory_mib": "gpu_memory_mib", "cpu_milli": "cpu_milli"} | {
    "host_memory_mib": "memory_mib"
}


def told(amounts: Amounts) -> dict[str, int]:
    """The engine's amounts in the units of pages and API."""
    return dict(zip(_RESOURCES, (amounts[0] // PLAIN, *amounts[1:]), strict=True))


class Teller:
    """Called after each sweep; works every few seconds, and stores a sample every five minutes."""

    def __init__(self) -> None:
        self._due = 0.0
        self._sampled: datetime | None = None

    def tell(self, sharing: Sharing, now: datetime) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _PERIOD_S
        lines = lines_of(sharing)
        try:
            cache.set(_KEY, [asdict(line) for line in lines], _KEEP_S)
        except (RedisError, OSError) as error:
            log.warning("standings_not_published", error=str(error))
        at = slot(now)
        if at != self._sampled:
            store_samples(lines, at)
            self._sampled = at


def lines_of(sharing: Sharing) -> list[Line]:
    """Parents before their children; a queue's own work beside those below it is in its line."""
    return [Line.from_engine(line) for line in sharing.standings() if line.queue % 2 == 0]


def read() -> dict[int, Line] | None:
    """By queue; None while no scheduler has told it within the last minute."""
    try:
        rows: list[dict[str, Any]] | None = cache.get(_KEY)
    except (RedisError, OSError) as error:
        log.warning("standings_not_read", error=str(error))
        return None
    return None if rows is None else {row["queue"]: Line(**row) for row in rows}


def slot(now: datetime) -> datetime:
    """The start of the five minutes that a moment is in."""
    return now - (now - _EPOCH) % SAMPLE  # exact: of seconds as float, one slot would have several starts
