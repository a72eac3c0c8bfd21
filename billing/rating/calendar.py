"""Days and months of a billing time zone, as half-open ranges of aware UTC instants.

A civil day begins at the first instant whose local date is that day: 23, 24 or 25 hours long around a change
of clocks. Where local midnight does not exist the day begins at the change itself.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MICROSECOND = timedelta(microseconds=1)


def zone_of(name: str) -> ZoneInfo:
    """Raises ValueError, with what would be right, for a name that is not an IANA zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone; use an IANA name such as Asia/Shanghai") from None


def local_day(instant: datetime, zone: ZoneInfo) -> date:
    return instant.astimezone(zone).date()


@lru_cache(maxsize=4096)
def day_start(day: date, zone: ZoneInfo) -> datetime:
    """The instant at which `day` begins in `zone`, in UTC.

    fold=0 reads a midnight that happens twice as the first, and one that does not exist by the offset before
    the change, which is the instant of the change.
    """
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def next_day_start(instant: datetime, zone: ZoneInfo) -> datetime:
    """The first day start after `instant`."""
    day = local_day(instant, zone)
    edge = instant
    while edge <= instant:  # a zone may skip a civil day altogether (Apia, 2011-12-30)
        day += timedelta(days=1)
        edge = day_start(day, zone)
    return edge


def day_edges(start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Every day start strictly inside (start, end)."""
    edge = next_day_start(start, zone)
    while edge < end:
        yield edge
        edge = next_day_start(edge, zone)


def first_of(day: date) -> date:
    return day.replace(day=1)


def next_month(month: date) -> date:
    """The first day of the month after that of `month`."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


def month_bounds(month: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """[start, end) of the month that holds the day `month`."""
    first = first_of(month)
    return day_start(first, zone), day_start(next_month(first), zone)


def microseconds(start: datetime, end: datetime) -> int:
    """Exact length; both aware."""
    return (end - start) // MICROSECOND
