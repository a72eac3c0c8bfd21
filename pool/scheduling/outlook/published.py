"""What is told to pages and API through the cache: the scheduler alone knows it, and it is void in a minute or two."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)
_KEY = "scheduling:outlook:{}"
KEEP_S = 300


@dataclass(frozen=True, slots=True)
class Outlook:
    """Of one waiting job, at a moment; times are seconds since 1970.

    `place` of `line`: in its queue; `overall` of `all_waiting`: by the order in which queues take turns now, 0 beyond
    the first of them. `rule`: plain or fair. `blocker`: queue_held, room_made, limit, capacity, "" while nobody
    looked. `no_room`: why nobody is stopped for it (engine: NoPlan), and whose queue's entitlement or limit that
    is. `early`, `middle`, `late`: p10, p50 and p90 of the start; None: not within what was looked at (`horizon`).
    `basis`: history, or why there is none: held, room_made (soon), not_yet (nobody looked so far down the line),
    unknown (what it waits for is not known to end), beyond (later than `horizon`). `bounded`, `seen`, `unseen`: running
    work with a known latest end, with a history of its like, and with neither; `groups`: of that history (history.py).
    """

    at: float
    place: int
    line: int
    overall: int
    all_waiting: int
    rule: str
    blocker: str
    no_room: str = ""
    no_room_queue: int = 0
    basis: str = "not_yet"
    early: float | None = None
    middle: float | None = None
    late: float | None = None
    horizon: float | None = None
    bounded: int = 0
    seen: int = 0
    unseen: int = 0
    groups: tuple[str, ...] = ()


def publish(outlooks: Mapping[int, Outlook]) -> None:
    """By primary key of the job."""
    try:
        cache.set_many({_KEY.format(job): asdict(each) for job, each in outlooks.items()}, KEEP_S)
    except (RedisError, OSError) as error:
        log.warning("outlook_not_published", error=str(error))


def read(job: int) -> Outlook | None:
    """None where the scheduler has not told any lately."""
    return read_many([job]).get(job)


def read_many(jobs: Sequence[int]) -> dict[int, Outlook]:
    try:
        rows: dict[str, dict[str, Any]] = cache.get_many([_KEY.format(job) for job in jobs])
    except (RedisError, OSError) as error:
        log.warning("outlook_not_read", error=str(error))
        return {}
    return {job: Outlook(**rows[_KEY.format(job)]) for job in jobs if _KEY.format(job) in rows}


def seconds(at: datetime) -> float:
    return at.timestamp()
