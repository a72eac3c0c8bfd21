"""Records within [start, end), those across an edge cut to what lies inside."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet, Sum

from billing.metering.models import UsageRecord
from billing.rating.calendar import microseconds

# a record lies within one civil day, and the longest is 25 h but for zones that moved their date line
LONGEST = timedelta(hours=50)


def sums(rows: QuerySet[UsageRecord], start: datetime, end: datetime, columns: tuple[str, ...]) -> Counter[Any]:
    """Signed microseconds inside [start, end) by `columns`. Two queries, exact."""
    near = rows.order_by().filter(starts_at__gt=start - LONGEST, starts_at__lt=end, ends_at__gt=start)
    whole = Q(starts_at__gte=start, ends_at__lte=end)
    found: Counter[Any] = Counter()
    for *key, held in near.filter(whole).values_list(*columns).annotate(held=Sum("microseconds")):
        found[tuple(key)] += held
    for *key, begins, ends, kind in near.exclude(whole).values_list(*columns, "starts_at", "ends_at", "kind"):
        length = microseconds(max(begins, start), min(ends, end))
        found[tuple(key)] += -length if kind == UsageRecord.Kind.CORRECTION else length
    return found
