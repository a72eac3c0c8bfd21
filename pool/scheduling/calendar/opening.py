"""Windows that are due: cards for reservations, and starts for jobs that waited long."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from pool.engine.calendar import Ending, Start, earliest, fits_at
from pool.engine.types import WHOLE, Placed, Policy
from pool.scheduling.calendar.endings import endings, leaving_s
from pool.scheduling.calendar.times import active, spans
from pool.scheduling.calendar.windows import request_of
from pool.scheduling.models import Queue, Reservation, Window
from pool.scheduling.services.windows import keep_for_job, keep_for_reservation
from pool.scheduling.sharing import queries as rules_of
from pool.scheduling.waiting import Waiting

if TYPE_CHECKING:
    from pool.scheduling.calendar.keeper import Calendar
    from pool.scheduling.preemption.maker import May

log = structlog.get_logger(__name__)
BUDGET_S = 0.2  # of a look, for planning starts
_QUIET = Policy(explain=False)


# -- reservations


def open_due(calendar: Calendar, now: datetime) -> None:
    """Keeps the cards of every occurrence whose lead time has begun. One question while there is no reservation."""
    rows = {row.pk: row for row in active()}
    for window in list(calendar.kept.values()):
        if window.reservation is None:
            continue
        if window.reservation not in rows:
            calendar.close(window, now, Window.State.DROPPED, Window.Dropped.CANCELLED)
        elif not calendar.is_whole(window):
            calendar.mend(window, now)
    if not rows:
        return
    due = [(row, span) for row in rows.values() for span in spans(row, now, now + timedelta(seconds=row.lead_s))]
    firsts = [start for _, (start, _end) in due]
    known = set(
        Window.objects.filter(reservation__in=rows, starts_at__in=firsts).values_list("reservation_id", "starts_at")
    )
    for row, span in due:
        if (row.pk, span[0]) not in known:
            _open(calendar, row, span, now)


def _open(calendar: Calendar, row: Reservation, span: tuple[datetime, datetime], now: datetime) -> None:
    line = _leaving(calendar, row, span[0], now)
    placed = fits_at(calendar.mirror.fleet, request_of(row), line, _second(span[0]), _QUIET)
    if placed is None and span[0] > now:
        return  # more may end until then; it is looked at again
    if placed is None:
        placed = _largest(calendar, row, line, span[0])
    window = keep_for_reservation(row, span, placed, calendar.rooms.lease_name, calendar.rooms.epoch, now)
    if window is not None and window.state == Window.State.OPEN:
        calendar.keep(window)
    if window is not None and window.short:
        log.warning("reservation_short", reservation=row.public_id, short=window.short, cards=window.cards)


def place(calendar: Calendar, row: Window, now: datetime) -> Placed | None:
    """Another place for an open window, which must not be held at the moment: all of it, or as much as there is."""
    of = row.reservation
    if of is None:
        return None
    at = max(now, row.starts_at)
    line = _leaving(calendar, of, at, now)
    return fits_at(calendar.mirror.fleet, request_of(of), line, _second(at), _QUIET) or _largest(calendar, of, line, at)


def _largest(calendar: Calendar, row: Reservation, line: list[Ending], at: datetime) -> Placed | None:
    """As many replicas as there is room for."""
    low, high, best = 0, row.replicas - 1, None
    while low < high:
        middle = (low + high + 1) // 2
        found = fits_at(calendar.mirror.fleet, request_of(row, middle), line, _second(at), _QUIET)
        low, high, best = (middle, high, found) if found is not None else (low, middle - 1, best)
    return (
        best
        if best is not None or not low
        else fits_at(calendar.mirror.fleet, request_of(row, low), line, _second(at), _QUIET)
    )


def _leaving(calendar: Calendar, row: Reservation, at: datetime, now: datetime) -> list[Ending]:
    """What has ended by then; where the reservation lends, also what can be sent away once the cards are wanted."""
    line = endings(calendar.mirror, now, None)
    if not row.lends:
        return line
    running = calendar.rooms.running().jobs
    gone = {ending.job for ending in line if ending.end_s <= _second(at)}
    movable = {job.key for job in running.values() if job.preemptible} - gone
    leaving = leaving_s(movable)
    for job in running.values():
        if job.key in leaving and job.preempt_min_runtime_s + leaving[job.key] <= row.give_back_s:
            line.append(Ending(job.key, _second(at), tuple(hold for r in job.replicas for hold in r.holds)))
            gone.add(job.key)
    latest = {ending.job: ending for ending in line}  # one line a job
    return list(latest.values())


# -- starts of jobs


def reserve_starts(calendar: Calendar, now: datetime, may: May) -> None:
    """Gives jobs that waited long a start. Costs a look at the rules while nobody waits so long."""
    if not len(calendar.waiting):
        return
    rules = rules_of.rules()
    room = rules.starve_most - len(list(calendar.starts()))
    if rules.starve_after_s is None or room <= 0:
        return
    since, least = now - timedelta(seconds=rules.starve_after_s), rules.starve_cards * WHOLE
    having = {window.job for window in calendar.starts()} | calendar.rooms.pledges.keys()
    found = {
        item.pk
        for item in calendar.waiting.jobs.values()
        if item.queued_at <= since and item.total_share_bp >= least and item.pk not in having
    } - calendar.without_start(now)
    if not found:
        return
    line = endings(calendar.mirror, now, rules.assumed_runtime_s)
    until = time.perf_counter() + BUDGET_S
    for item in calendar.rooms.in_order():
        if item.pk in found and _may_start(calendar, item) and may(item):
            room -= _reserve(calendar, item, line, now)
            if room <= 0 or time.perf_counter() > until:
                return


def _may_start(calendar: Calendar, item: Waiting) -> bool:
    queue = calendar.waiting.queues.get(item.queue_id)
    return queue is not None and queue.state != Queue.State.HELD


def _reserve(calendar: Calendar, item: Waiting, line: list[Ending], now: datetime) -> bool:
    with calendar.mirror.lifted([w.key for w in calendar.kept.values() if w.reservation is not None and w.is_of(item)]):
        found = earliest(calendar.mirror.fleet, item.request, line, _second(now), _QUIET)
    if not isinstance(found, Start):
        calendar.has_no_start(item, now)
        return False
    if found.at_s <= _second(now):
        return False
    start = datetime.fromtimestamp(found.at_s, UTC)
    rooms = calendar.rooms
    row = keep_for_job(item.pk, found.placed, start, found.sure, rooms.lease_name, rooms.epoch, now)
    if row is None:
        return False
    calendar.keep(row)
    return True


def _second(at: datetime) -> int:
    return int(at.timestamp())
