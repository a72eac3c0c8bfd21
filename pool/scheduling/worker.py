"""The scheduler process: the loop in a thread of its own, and a Celery worker that hands it wake-ups.

Only the holder of the lease starts consuming the wake queue: two workers on one queue would split the wake-ups.
A standby waits for the lease. Whoever loses it ends, and is started again as a standby.
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

from console.common import clock, ids, lease
from pool.scheduling.figures import Publisher
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.services.placement import Fenced

log = structlog.get_logger(__name__)

SWEEP_S = 1.0
_loop: "SchedulerLoop | None" = None


def running_loop() -> "SchedulerLoop | None":
    """The loop of this process, for the wake task."""
    return _loop


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


class SchedulerLoop(threading.Thread):
    """Reacts to hints at once and sweeps every second."""

    def __init__(self, holder: str, epoch: int) -> None:
        super().__init__(name="scheduler", daemon=True)
        self.holder, self.epoch = holder, epoch
        self.scheduler = Scheduler(epoch)
        self.figures = Publisher()
        self.stopping = threading.Event()
        self.lost = False
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._jobs: set[int] = set()
        self._nodes: set[int] = set()

    def hint(self, job_ids: list[int], node_ids: list[int]) -> None:
        """From another thread: look at these now."""
        with self._lock:
            self._jobs.update(job_ids)
            self._nodes.update(node_ids)
        self._news.set()

    def stop(self) -> None:
        self.stopping.set()
        self._news.set()

    def run(self) -> None:
        try:
            self._work()
        except Exception:
            # whatever it was, memory may be wrong: a fresh process reads everything anew
            log.exception("scheduler_failed", epoch=self.epoch)
            self.lost = True
        if self.lost:
            log.warning("scheduler_lease_lost", epoch=self.epoch)
            self._end_process()

    def _work(self) -> None:
        due = 0.0
        while not self.stopping.is_set() and not self.lost:
            try:
                if time.monotonic() >= due:
                    due = time.monotonic() + SWEEP_S
                    self._renew()
                    self.scheduler.sweep()
                    self.figures.publish(self.scheduler.mirror.fleet)
                self._react()
            except Fenced:
                self.lost = True
            except DatabaseError as error:
                # the database is away: keep the lease's own time-out as the judge, and try again
                log.warning("scheduler_pass_failed", error=str(error))
                close_old_connections()
                self.scheduler = Scheduler(self.epoch) if _reachable() else self.scheduler
                self.stopping.wait(0.2)
            self._news.wait(max(0.0, due - time.monotonic()))

    def _end_process(self) -> None:
        """Until it works: a signal that comes before Celery has its own handlers in place is lost."""
        while not self.stopping.is_set():
            os.kill(os.getpid(), signal.SIGTERM)
            self.stopping.wait(3)

    def _renew(self) -> None:
        ttl = timedelta(seconds=settings.WEIR_LEASE_SECONDS)
        if lease.acquire(lease_name(), self.holder, ttl, clock.now()) != self.epoch:
            raise Fenced("the lease went to another scheduler")

    def _react(self) -> None:
        self._news.clear()
        with self._lock:
            jobs, nodes = self._jobs, self._nodes
            self._jobs, self._nodes = set(), set()
        if jobs or nodes:
            self.scheduler.react(jobs, nodes)


def _reachable() -> bool:
    from django.db import connection

    try:
        connection.ensure_connection()
    except DatabaseError:
        return False
    return True


def run() -> int:
    """Standby, then scheduler until told to stop or the lease is lost. The exit status of the process."""
    global _loop
    from console.celery import app

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    holder = holder_name()
    epoch = wait_for_lease(holder, stop)
    if epoch is None:
        return 0
    log.info("scheduler_started", epoch=epoch, cell=settings.WEIR_CELL)
    _loop = SchedulerLoop(holder, epoch)
    _loop.start()
    worker = app.Worker(
        queues=["wake"],
        pool="solo",
        hostname=f"scheduler-{os.getpid()}@%h",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        optimization="fair",
    )
    worker.start()
    _loop.stop()
    _loop.join(10)
    if not _loop.lost:
        lease.release(lease_name(), holder)
    return 1 if _loop.lost else 0
