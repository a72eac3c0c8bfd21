"""When a budget's period began: days, weeks (from Monday) and months by the tenant's own time zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


def period_of(period: str, zone: str, now: datetime) -> tuple[datetime, datetime]:
    """The start and end of the period that a moment is in, in UTC. `period`: day, week or month."""
    local = now.astimezone(ZoneInfo(zone))
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if period == "month":
        start = day.replace(day=1)
        return _utc(start), _utc((start + timedelta(days=32)).replace(day=1))
    start = day - timedelta(days=day.weekday()) if period == "week" else day
    return _utc(start), _utc(start + timedelta(days=7 if period == "week" else 1))


def _utc(local: datetime) -> datetime:
    return local.astimezone(UTC)
