"""The loop of `manage.py demo_load`. It keeps nothing that matters: after a restart it goes on from the database."""

import heapq
import time
from dataclasses import dataclass, field, replace
from random import Random
from threading import Event

import redis
import structlog
from django.db import DatabaseError, close_old_connections, connections
from kombu.exceptions import OperationalError

from console.common import clock
from console.common.errors import WeirError
from console.demo import queries, services
from console.demo.load.mix import MEAN_CARDS, arrival
from console.demo.load.pace import Pace, arrivals
from console.demo.load.tasks import tasks
from pool.scheduling.queries import job_for
from pool.scheduling.services import cancel_job, submit_job

log = structlog.get_logger("weir.demo")
STEP_S, TIDY_S = 0.5, 60.0
_LONGEST_PAUSE_S = 30.0
_OUTAGES = (DatabaseError, redis.RedisError, OperationalError, OSError)


@dataclass(slots=True)
class Load:
    """`cancels`: (monotonic time, person, public id) of jobs that their owner will stop."""

    rng: Random
    pace: Pace = field(default_factory=lambda: Pace(mean_cards=MEAN_CARDS))
    cancels: list[tuple[float, str, str]] = field(default_factory=list)
    number: int = 100
    tidied: float = 0.0

    def step(self, now: float, seconds: float) -> int:
        """Submits what arrives within `seconds` and cancels what is due; returns how many were submitted."""
        self._cancel(now)
        if now - self.tidied >= TIDY_S:
            services.tidy(clock.now())
            services.draft_bills(clock.now())
            self.tidied = now
        count = arrivals(self.rng, self.pace.rate(queries.level()), seconds)
        return sum(self._submit(now) for _ in range(count))

    def _submit(self, now: float) -> bool:
        self.number += 1
        job = arrival(self.rng, tasks(), self.number)
        actor = queries.actor_of(job.person)
        if actor is None:
            return False
        try:
            row = submit_job(replace(actor, via="demo"), job.spec)
        except WeirError as error:  # a queue was closed, a site drained: people meet that too
            log.info("demo job refused", job=job.spec["name"], error=error.message)
            return False
        if job.cancel_after is not None:
            heapq.heappush(self.cancels, (now + job.cancel_after, job.person, row.public_id))
        return True

    def _cancel(self, now: float) -> None:
        while self.cancels and self.cancels[0][0] <= now:
            _, person, public_id = heapq.heappop(self.cancels)
            actor = queries.actor_of(person)
            if actor is None:
                continue
            try:
                cancel_job(replace(actor, via="demo"), job_for(actor, public_id))
            except WeirError as error:  # it ended a moment ago
                log.debug("demo job not cancelled", job=public_id, error=error.message)


def run(load: Load, stop: Event) -> None:
    """Until `stop`: one step every half second; an outage is logged and waited out, twice as long each time."""
    pause, before = STEP_S, time.monotonic()
    while not stop.wait(pause):
        now = time.monotonic()
        try:
            close_old_connections()
            # after a pause the missed time is not made up for: that would be a storm, not a stream
            load.step(now, min(now - before, 2 * STEP_S))
            pause = STEP_S
        except _OUTAGES as error:
            pause = min(_LONGEST_PAUSE_S, 2 * pause)
            log.warning(
                "demo load waits", error=str(error).splitlines()[0] if str(error) else repr(error), pause_s=pause
            )
            _drop_connections()
        before = now


def _drop_connections() -> None:
    for connection in connections.all(initialized_only=True):
        try:
            connection.close()
        except DatabaseError as error:
            log.debug("connection did not close", error=str(error))
