"""From an interval to the usage records that it owes. Computes only; services.py writes."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from zoneinfo import ZoneInfo

from billing.catalog.queries import Prices
from billing.metering.models import UsageRecord
from billing.rating.calendar import microseconds, zone_of
from billing.rating.pieces import Piece, cut
from billing.rating.shares import Basis, Held, charged
from pool.scheduling.models import Interval


@lru_cache(maxsize=4096)
def share_of(compute_num: int, compute_den: int, memory_mib: int, device_memory_mib: int, basis: Basis) -> Fraction:
    """What part of a card an interval with these facts is charged for."""
    return charged(Held(Fraction(compute_num, compute_den), memory_mib, device_memory_mib), basis)


def usage(interval: Interval, start: datetime, end: datetime, prices: Prices, basis: Basis) -> Iterator[UsageRecord]:
    """Unsaved records for [start, end), cut at price, day and month edges of the tenant's zone."""
    share = share_of(interval.compute_num, interval.compute_den, interval.memory_mib, interval.device_memory_mib, basis)
    timeline = prices.of(interval.model_name, interval.isolation)
    for piece in cut(start, end, timeline, zone_of(interval.tenant.time_zone)):
        yield _record(interval, piece, share)


def corrections(interval: Interval, recorded: Iterable[UsageRecord], end: datetime) -> Iterator[UsageRecord]:
    """Unsaved records that take back what `recorded` holds after the true `end`, at the price it was rated at."""
    for row in recorded:
        start = max(row.starts_at, end)
        if start < row.ends_at:
            yield _copy(row, start, row.ends_at, UsageRecord.Kind.CORRECTION, row.price_id)


def rated(row: UsageRecord, prices: Prices, zone: ZoneInfo) -> Iterator[UsageRecord]:
    """Unsaved records that replace `row`, which had no price, by pieces at the prices known now."""
    for piece in cut(row.starts_at, row.ends_at, prices.of(row.model_name, row.isolation), zone):
        price_id = piece.version.ident if piece.version else None
        yield _copy(row, piece.starts_at, piece.ends_at, UsageRecord.Kind(row.kind), price_id)


def digest_of(row: UsageRecord) -> str:
    """SHA-256 of what the record says. Equal key and another digest is a fault, never a second bill."""
    facts = (
        row.kind,
        row.interval_id,
        row.starts_at.isoformat(),
        row.ends_at.isoformat(),
        row.microseconds,
        row.day.isoformat(),
        row.tenant_id,
        row.project_id,
        row.queue_id,
        row.site_id,
        row.model_name,
        row.isolation,
        row.charge_num,
        row.charge_den,
        row.price_id,
    )
    return hashlib.sha256("|".join(map(str, facts)).encode()).hexdigest()


def _record(interval: Interval, piece: Piece, share: Fraction) -> UsageRecord:
    row = UsageRecord(
        interval_id=interval.pk,
        starts_at=piece.starts_at,
        ends_at=piece.ends_at,
        microseconds=piece.microseconds,
        day=piece.day,
        tenant_id=interval.tenant_id,
        project_id=interval.project_id,
        queue_id=interval.queue_id,
        site_id=interval.site_id,
        model_name=interval.model_name,
        isolation=interval.isolation,
        charge_num=share.numerator,
        charge_den=share.denominator,
        price_id=piece.version.ident if piece.version else None,
    )
    row.digest = digest_of(row)
    return row


def _copy(
    row: UsageRecord, start: datetime, end: datetime, kind: UsageRecord.Kind, price_id: int | None
) -> UsageRecord:
    length = microseconds(start, end)
    copy = UsageRecord(
        interval_id=row.interval_id,
        kind=kind,
        starts_at=start,
        ends_at=end,
        microseconds=-length if kind is UsageRecord.Kind.CORRECTION else length,
        day=row.day,
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        queue_id=row.queue_id,
        site_id=row.site_id,
        model_name=row.model_name,
        isolation=row.isolation,
        charge_num=row.charge_num,
        charge_den=row.charge_den,
        price_id=price_id,
    )
    copy.digest = digest_of(copy)
    return copy
