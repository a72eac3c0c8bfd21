"""Every write of usage records. Each is idempotent and safe to run in several processes at once."""

from collections.abc import Callable
from datetime import datetime

from billing import config
from billing.catalog.queries import Prices
from billing.metering import batch, due, records
from billing.metering.batch import Plan, Tally
from billing.metering.models import Metered, UsageRecord
from billing.rating.calendar import zone_of
from pool.scheduling.models import Interval

SIZE = 50  # small transactions: on SQLite each holds the one write lock
Stop = Callable[[], bool]
Source = Callable[[int, int], list[int]]  # (last id seen, how many) -> the next ids


def _never() -> bool:
    return False


def meter_closed(now: datetime, size: int = SIZE, since: datetime | None = None, stop: Stop = _never) -> Tally:
    """Puts every interval that ended by `now` and is not settled into records, to its true end.

    `since` looks only at ends that became known from then on (quick, by index); None looks at all. `stop` is
    asked between batches.
    """
    return _in_batches(due.closed(now, since), size, stop, lambda ids: _meter(ids, None))


def meter_running(now: datetime, size: int = SIZE, stop: Stop = _never) -> Tally:
    """Puts the finished days of running intervals into records, so that a month can be billed while work runs on.

    A day is finished once `config.settle_lag()` has passed since its end. What turns out later not to have been
    held is taken back by a correction when the interval closes.
    """
    tally = Tally()
    for zone, edge in due.finished_days(now - config.settle_lag()):
        tally += _in_batches(due.running(zone, edge), size, stop, lambda ids, edge=edge: _meter(ids, edge))  # type: ignore[misc]
    return tally


def rate_unrated(size: int = SIZE, stop: Stop = _never) -> Tally:
    """Replaces records that had no price by rated ones, where a price has been set since."""
    return _in_batches(due.unrated, size, stop, lambda ids: batch.run(lambda: _plan_rating(ids)))


def _in_batches(source: Source, size: int, stop: Stop, work: Callable[[list[int]], Tally]) -> Tally:
    tally, last = Tally(), 0
    while not stop():
        ids = source(last, size)
        if not ids:
            break
        last = ids[-1]
        tally += work(ids)
    return tally


def _meter(ids: list[int], edge: datetime | None) -> Tally:
    return batch.run(lambda: _plan_metering(ids, edge))


def _plan_metering(ids: list[int], edge: datetime | None) -> Plan:
    """`edge` None: closed intervals, to their end; else running ones, to the end of a day."""
    plan = Plan()
    intervals = Interval.objects.filter(pk__in=ids).select_related("tenant", "metered").order_by("pk")
    for interval, prices in batch.read(plan, intervals):
        end = interval.ended_at if edge is None else min(edge, interval.ended_at or edge)
        if end is not None:
            _plan_interval(plan, interval, prices, end)
    return plan


def _plan_interval(plan: Plan, interval: Interval, prices: Prices, end: datetime) -> None:
    done: Metered | None = getattr(interval, "metered", None)
    start = done.until if done else interval.started_at
    settled = interval.ended_at == end
    if (done and done.settled) or (end <= start and not settled):
        return
    if end < start:
        recorded = interval.usage_records.filter(kind=UsageRecord.Kind.USAGE, ends_at__gt=end)
        plan.rows += records.corrections(interval, recorded.order_by("starts_at"), end)
    else:
        plan.rows += records.usage(interval, start, end, prices, config.basis())
    plan.metered.append(Metered(interval_id=interval.pk, until=end, settled=settled))


def _plan_rating(ids: list[int]) -> Plan:
    plan = Plan()
    unrated = UsageRecord.objects.filter(pk__in=ids, price__isnull=True).select_related("tenant")
    for row, prices in batch.read(plan, unrated.order_by("pk")):
        pieces = list(records.rated(row, prices, zone_of(row.tenant.time_zone)))
        if any(piece.price_id for piece in pieces):
            plan.replaced.append(row.pk)
            plan.rows += pieces
    return plan
