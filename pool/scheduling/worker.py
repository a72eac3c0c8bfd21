"""The scheduler process: waits for the lease, then reacts to hints and sweeps every second until it loses it.

Only the holder of the lease takes hints: two takers would split them. A standby waits for the lease. Whoever
loses it ends, and is started again as a standby.
"""

import os
import signal
import socket
import threading
import time
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from console.common import clock, ids, lease, memory
from pool.scheduling import wake
from pool.scheduling.figures import Publisher
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.services.placement import Fenced

log = structlog.get_logger(__name__)

SWEEP_S = 1.0


def holder_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{ids.make('h')}"


def wait_for_lease(holder: str, stop: threading.Event) -> int | None:
    """Blocks as a standby until this process holds the lease; None when told to stop."""
    while not stop.is_set():
        try:
            epoch = lease.acquire(lease_name(), holder, timedelta(seconds=settings.WEIR_LEASE_SECONDS), clock.now())
            if epoch is not None:
                return epoch
        except DatabaseError as error:
            log.warning("lease_not_asked", error=str(error))
            close_old_connections()
        stop.wait(0.5)
    return None


class SchedulerLoop:
    """Owns the fleet in memory while `epoch` is current. `stop` ends it after the pass at hand."""

    def __init__(self, holder: str, epoch: int, stop: threading.Event) -> None:
        self.holder, self.epoch, self.stop = holder, epoch, stop
        self.scheduler = Scheduler(epoch)
        self.figures = Publisher()
        memory.settle()

    def run(self) -> None:
        """Until told to stop. Raises Fenced when the lease went to another."""
        due = 0.0
        hints = wake.Hints()
        while not self.stop.is_set():
            try:
                if hints:  # before a sweep that is due: who was heard need not wait for it
                    self.scheduler.react(hints.jobs, hints.nodes, hints.queues)
                if time.monotonic() >= due:
                    due = time.monotonic() + SWEEP_S
                    self._renew()
                    self._look_up()
                    self.scheduler.sweep(self._look_up)
                    self.figures.publish(self.scheduler.mirror.fleet)
            except DatabaseError as error:
                # the database is away: keep the lease's own time-out as the judge, and try again
                log.warning("scheduler_pass_failed", error=str(error))
                close_old_connections()
                self.scheduler = Scheduler(self.epoch) if _reachable() else self.scheduler
                self.stop.wait(0.2)
            hints = self._listen(due - time.monotonic())

    def _look_up(self) -> None:
        """Hints that came while a sweep goes on."""
        try:
            hints = wake.pending()
        except wake.AWAY:
            return
        if hints:
            self.scheduler.react(hints.jobs, hints.nodes, hints.queues)

    def _renew(self) -> None:
        ttl = timedelta(seconds=settings.WEIR_LEASE_SECONDS)
        if lease.acquire(lease_name(), self.holder, ttl, clock.now()) != self.epoch:
            raise Fenced("the lease went to another scheduler")

    def _listen(self, seconds: float) -> wake.Hints:
        """None when a sweep is due, which looks itself."""
        if seconds <= 0:
            return wake.Hints()
        try:
            return wake.receive(seconds)
        except wake.AWAY as error:
            log.warning("hints_not_heard", error=str(error))
            self.stop.wait(min(seconds, 0.2))
            return wake.Hints()


def _reachable() -> bool:
    from django.db import connection

    try:
        connection.ensure_connection()
    except DatabaseError:
        return False
    return True


def run() -> int:
    """Standby, then scheduler until told to stop or the lease is lost. The exit status of the process."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    holder = holder_name()
    epoch = wait_for_lease(holder, stop)
    if epoch is None:
        return 0
    log.info("scheduler_started", epoch=epoch, cell=settings.WEIR_CELL)
    try:
        SchedulerLoop(holder, epoch, stop).run()
    except Fenced:
        log.warning("scheduler_lease_lost", epoch=epoch)
        return 1
    except Exception:
        # whatever it was, memory may be wrong: a fresh process reads everything anew
        log.exception("scheduler_failed", epoch=epoch)
        return 1
    lease.release(lease_name(), holder)
    return 0
