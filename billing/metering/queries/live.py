"""What is held but not in records yet: computed on the spot, with the same rules, and never stored."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from billing import config
from billing.catalog import queries as catalog
from billing.catalog.models import PriceBook
from billing.catalog.queries import Prices
from billing.metering import records
from billing.metering.models import UsageRecord
from pool.scheduling.models import Interval

# the sweep settles what closes within minutes; older than this only a full sweep finds
RECENT = timedelta(days=3)


def unmetered(now: datetime, tenant_ids: list[int] | None = None) -> Iterator[UsageRecord]:
    """Unsaved records up to `now`; `tenant_ids` None: of all tenants."""
    books = {book.currency: catalog.load(book) for book in PriceBook.objects.all()}
    basis = config.basis()
    for interval in open_intervals(now, tenant_ids).iterator(chunk_size=2000):
        metered = getattr(interval, "metered", None)
        start = metered.until if metered else interval.started_at
        end = min(interval.ended_at or now, now)
        currency = interval.tenant.currency
        yield from records.usage(interval, start, end, books.get(currency, _none(currency)), basis)


def open_intervals(now: datetime, tenant_ids: list[int] | None = None) -> QuerySet[Interval]:
    """Running, or closed lately and not settled, with tenant and metering state."""
    unsettled = Q(metered__isnull=True) | Q(metered__settled=False)
    rows = Interval.objects.filter(
        Q(closed_at__isnull=True) | Q(unsettled, closed_at__gte=now - RECENT), started_at__lt=now
    ).select_related("tenant", "metered")
    return rows if tenant_ids is None else rows.filter(tenant_id__in=tenant_ids)


def _none(currency: str) -> Prices:
    return Prices(book_id=0, currency=currency, fence=0, timelines={})
