"""Celery beat with one leader: any number may run, only the holder of the lease sends.

When a task was sent last is in the database. A new leader goes on from there: what fell due while nobody led is
sent once, not once for each period missed.
"""

import os
import socket
from datetime import timedelta
from typing import Any

import structlog
from celery.beat import ScheduleEntry, Scheduler
from django.db import DatabaseError, close_old_connections

from console.common import clock, ids, lease
from console.common.models import PeriodicRun

log = structlog.get_logger(__name__)

LEASE_NAME = "beat"
TTL = timedelta(seconds=15)
LONGEST_TICK_S = 5.0  # well within the lease


class LeasedScheduler(Scheduler):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{ids.make('beat')}"
        self.epoch: int | None = None
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Seconds until the next one."""
        try:
            epoch = lease.acquire(LEASE_NAME, self.holder, TTL, clock.now())
            if epoch is not None and epoch != self.epoch:
                self._recall()
                log.info("beat_leads", epoch=epoch)
            self.epoch = epoch
            if epoch is None:
                return LONGEST_TICK_S
            return min(float(super().tick(*args, **kwargs)), LONGEST_TICK_S)
        except DatabaseError as error:
            log.warning("beat_database_away", error=str(error))
            close_old_connections()
            self.epoch = None
            return 2.0

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        PeriodicRun.objects.update_or_create(name=entry.name, defaults={"last_run_at": clock.now()})
        return super().apply_async(entry, *args, **kwargs)

    def close(self) -> None:
        lease.release(LEASE_NAME, self.holder)
        super().close()

    def _recall(self) -> None:
        known = dict(PeriodicRun.objects.values_list("name", "last_run_at"))
        for name, entry in self.schedule.items():
            if name in known:
                entry.last_run_at = known[name]
        self._heap = None
