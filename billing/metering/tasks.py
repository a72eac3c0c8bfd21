"""Celery tasks of metering. Run twice, or killed half-way, the records stay right: see batch.py."""

import time
from datetime import timedelta

import structlog
from celery import shared_task

from billing.metering import services
from billing.metering.batch import Tally
from console.common import clock
from console.common.sending import send

log = structlog.get_logger("weir.billing")
BUDGET_S = 30  # well below the task time limit; what is left goes into the next message
HOUR_S = 3600.0  # then the next sweep comes anyway
RECENT = timedelta(days=3)  # ends that became known later than that are found by the full sweep


@shared_task(name="billing.metering.tasks.sweep")
def sweep(full: bool = False) -> None:
    """Meters what has closed, finished days of what runs, and what has got a price. Beat sends it hourly, and once
    a day with `full`, which looks at every interval ever closed. Goes on in a new message when time is up."""
    stop = _budget()
    now = clock.now()
    tally = services.meter_closed(now, since=None if full else now - RECENT, stop=stop)
    tally += services.meter_running(now, stop=stop)
    tally += services.rate_unrated(stop=stop)
    _report("usage swept", tally)
    if stop():
        send(sweep, full, expires=HOUR_S)


@shared_task(name="billing.metering.tasks.wake")
def wake() -> None:
    """Meters what closed lately, so that records need not wait for the sweep. Beat sends it each minute."""
    now = clock.now()
    _report("usage metered", services.meter_closed(now, since=now - RECENT, stop=_budget()))


def _budget() -> services.Stop:
    deadline = time.monotonic() + BUDGET_S
    return lambda: time.monotonic() >= deadline


def _report(event: str, tally: Tally) -> None:
    if tally != Tally():
        log.info(event, intervals=tally.intervals, records=tally.records, corrections=tally.corrections)
