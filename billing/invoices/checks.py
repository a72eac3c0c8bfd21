"""What must hold before an invoice is issued. Each raises Conflict, with what to do."""

from datetime import datetime
from fractions import Fraction

from django.db.models import Q, Sum

from billing.invoices import building
from billing.invoices.models import Invoice
from billing.rating.amounts import US_PER_HOUR, round_half_up
from billing.rating.calendar import month_bounds, zone_of
from console.common.errors import Conflict
from pool.scheduling.models import Interval


def month_is_over(invoice: Invoice, now: datetime) -> None:
    _, end = month_bounds(invoice.month, zone_of(invoice.time_zone))
    if now < end:
        raise Conflict(f"the month ends at {end.isoformat()}; it can be issued after that", code="month_not_over")


def all_is_metered(invoice: Invoice) -> None:
    """Every interval that touches the month is in records up to the month's end."""
    _, end = month_bounds(invoice.month, zone_of(invoice.time_zone))
    not_so_far = Q(metered__until__lt=end) | Q(ended_at__isnull=False)  # an end may need a correction
    behind = Q(metered__isnull=True) | (Q(metered__settled=False) & not_so_far)
    count = Interval.objects.filter(behind, tenant_id=invoice.tenant_id, started_at__lt=end).count()
    if count:
        raise Conflict(
            f"{count} intervals of that month are not metered yet; metering runs each hour",
            code="usage_not_metered",
        )


def nothing_is_left(invoice: Invoice) -> None:
    """No usage of the month is without a price in the invoice's currency, and none came in just now."""
    left = (
        building.eligible(invoice)
        .values_list("model_name", "isolation", "price_id")
        .annotate(held=Sum("microseconds"))
        .order_by("model_name", "isolation")
        .first()
    )
    if left is None:
        return
    model_name, isolation, price_id, held = left
    hours = round_half_up(Fraction(held, US_PER_HOUR), 2)
    if price_id is None:
        raise Conflict(
            f"{hours} h of {model_name} ({isolation}) have no price; set one that is valid from then on",
            code="usage_not_rated",
        )
    raise Conflict(f"{hours} h of {model_name} ({isolation}) are not on the draft yet; try again", code="usage_new")


def has_lines(invoice: Invoice) -> None:
    if not invoice.lines.exists():
        raise Conflict("there is nothing to bill in that month", code="invoice_empty")
