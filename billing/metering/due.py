"""What is still to be metered: ids in ascending order, read in slices."""

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db.models import Q

from billing.metering.models import UsageRecord
from billing.rating.calendar import day_start, local_day, zone_of
from console.tenants.models import Tenant
from pool.scheduling.models import Interval

_OPEN = Q(metered__isnull=True) | Q(metered__settled=False)


def closed(now: datetime, since: datetime | None) -> Callable[[int, int], list[int]]:
    """Intervals that ended by `now` and whose end is not in records yet."""
    rows = Interval.objects.filter(_OPEN, ended_at__lte=now)
    if since is not None:
        rows = rows.filter(closed_at__gte=since)
    return lambda last, size: list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:size])


def finished_days(until: datetime) -> Iterator[tuple[str, datetime]]:
    """(time zone, start of the local day that holds `until`) for each zone that tenants bill in."""
    names = Tenant.objects.values_list("time_zone", flat=True).distinct().order_by("time_zone")
    for name in names:
        zone = zone_of(name)
        yield name, day_start(local_day(until, zone), zone)


def running(zone: str, edge: datetime) -> Callable[[int, int], list[int]]:
    """Running intervals of tenants in `zone` that are not metered up to `edge`."""
    rows = Interval.objects.filter(
        Q(metered__isnull=True) | Q(metered__until__lt=edge),
        ended_at__isnull=True,
        closed_at__isnull=True,
        started_at__lt=edge,
        tenant__time_zone=zone,
    )
    return lambda last, size: list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:size])


def unrated(last: int, size: int) -> list[int]:
    """Records without a price."""
    rows = UsageRecord.objects.filter(price__isnull=True, pk__gt=last)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:size])
