"""What is held but not in records yet: computed on the spot, with the same rules, and never stored.

Runs for every look at the overview, so it builds no model instances: 10,000 running slices are the usual case.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from billing import config
from billing.catalog import queries as catalog
from billing.catalog.models import PriceBook
from billing.metering.records import share_of
from billing.rating.calendar import microseconds, zone_of
from billing.rating.pieces import cut
from pool.scheduling.models import Interval

# the sweep settles what closes within minutes; older than this only a full sweep finds
RECENT = timedelta(days=3)


class LivePiece(NamedTuple):
    """As a usage record would say it; `runs`: it ends now only because it is looked at now."""

    tenant_id: int
    project_id: int
    queue_id: int
    model_name: str
    day: date
    starts_at: datetime
    ends_at: datetime
    price_id: int | None
    share: Fraction
    runs: bool

    @property
    def microseconds(self) -> int:
        return microseconds(self.starts_at, self.ends_at)


_COLUMNS = (
    "tenant_id",
    "project_id",
    "queue_id",
    "model_name",
    "isolation",
    "compute_num",
    "compute_den",
    "memory_mib",
    "device_memory_mib",
    "started_at",
    "ended_at",
    "metered__until",
    "tenant__time_zone",
    "tenant__currency",
)


def unmetered(now: datetime, tenant_ids: list[int] | None = None) -> Iterator[LivePiece]:
    """Pieces up to `now`, cut as records are; `tenant_ids` None: of all tenants. Two queries and one a currency."""
    books = {book.currency: catalog.load(book) for book in PriceBook.objects.all()}
    basis = config.basis()
    for row in _open(now, tenant_ids).values_list(*_COLUMNS).iterator(chunk_size=5000):
        tenant, project, queue, model, isolation, num, den, mib, whole_mib, started, ended, until, zone, money = row
        book = books.get(money)
        prices = book.of(model, isolation) if book else catalog.NEVER_SOLD
        share = share_of(num, den, mib, whole_mib, basis)
        end = min(ended or now, now)
        for piece in cut(until or started, end, prices, zone_of(zone)):
            price_id = piece.version.ident if piece.version else None
            runs = ended is None and piece.ends_at == now
            yield LivePiece(
                tenant, project, queue, model, piece.day, piece.starts_at, piece.ends_at, price_id, share, runs
            )


def _open(now: datetime, tenant_ids: list[int] | None) -> QuerySet[Interval, Any]:
    """Running, or closed lately and not settled."""
    unsettled = Q(metered__isnull=True) | Q(metered__settled=False)
    rows = Interval.objects.filter(
        Q(closed_at__isnull=True) | Q(unsettled, closed_at__gte=now - RECENT), started_at__lt=now
    )
    return rows if tenant_ids is None else rows.filter(tenant_id__in=tenant_ids)
