"""The real scheduler, for cases of placement that go through the whole product."""

from datetime import timedelta

from console.common import clock, lease
from pool.scheduling.scheduler import Scheduler, lease_name


def scheduler() -> Scheduler:
    epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
    assert epoch is not None
    return Scheduler(epoch)
