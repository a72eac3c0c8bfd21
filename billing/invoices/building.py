"""From usage records to invoice lines. Computes only; services.py writes."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from django.db.models import Q, QuerySet, Sum

from billing.catalog.models import Price
from billing.invoices.models import Invoice, InvoiceLine
from billing.metering.models import UsageRecord
from billing.rating.amounts import US_PER_HOUR, card_hours, money, round_half_up
from billing.rating.calendar import next_month
from console.tenants.models import Project

EXACT_PLACES = 12


@dataclass(frozen=True, slots=True)
class LineKey:
    project_id: int
    model_name: str
    isolation: str
    price_id: int


def last_day(month: date) -> date:
    return next_month(month) - timedelta(days=1)


def eligible(invoice: Invoice) -> QuerySet[UsageRecord]:
    """Records that belong on this draft and are on no invoice yet: those of its month, and late ones of months
    whose invoice is issued already. Rated or not, in any currency."""
    issued = Invoice.objects.filter(
        tenant_id=invoice.tenant_id, month__lt=invoice.month, state=Invoice.State.ISSUED
    ).values_list("month", flat=True)
    months = Q(day__range=(invoice.month, last_day(invoice.month)))
    for month in issued:
        months |= Q(day__range=(month, last_day(month)))
    return UsageRecord.objects.filter(months, tenant_id=invoice.tenant_id, billed__isnull=True)


def billable(invoice: Invoice) -> QuerySet[UsageRecord]:
    """Of `eligible`, what has a price in the invoice's currency."""
    return eligible(invoice).filter(price__book__currency=invoice.currency)


def lines(invoice: Invoice) -> list[InvoiceLine]:
    """Unsaved lines of the records on this invoice, by project, product and the start of the price.

    Each amount is rounded once, half-up, from the exact product of price, share and time.
    """
    held: dict[LineKey, int] = defaultdict(int)
    card_us: dict[LineKey, Fraction] = defaultdict(Fraction)
    groups = (
        UsageRecord.objects.filter(billed__invoice=invoice)
        .values_list("project_id", "model_name", "isolation", "price_id", "charge_num", "charge_den")
        .annotate(held=Sum("microseconds"))
    )
    for project_id, model_name, isolation, price_id, num, den, length in groups:
        key = LineKey(project_id, model_name, isolation, price_id)
        held[key] += length
        card_us[key] += Fraction(num, den) * length
    prices = Price.objects.in_bulk({key.price_id for key in held})
    names = dict(Project.objects.filter(pk__in={key.project_id for key in held}).values_list("pk", "name"))
    order = sorted(
        held,
        key=lambda key: (
            names[key.project_id],
            key.project_id,
            key.model_name,
            key.isolation,
            prices[key.price_id].valid_from,
        ),
    )
    return [
        _line(invoice, position, key, names[key.project_id], prices[key.price_id], held[key], card_us[key])
        for position, key in enumerate(order, 1)
    ]


def total(rows: Iterable[InvoiceLine]) -> Decimal:
    """The exact sum of the rounded amounts: an invoice equals its lines to the cent."""
    return sum((row.amount for row in rows), Decimal(0))


def _line(
    invoice: Invoice,
    position: int,
    key: LineKey,
    project_name: str,
    price: Price,
    held_us: int,
    card_us: Fraction,
) -> InvoiceLine:
    unit = price.per_card_hour or Decimal(0)
    exact = Fraction(unit) * card_us / US_PER_HOUR
    return InvoiceLine(
        invoice=invoice,
        position=position,
        project_id=key.project_id,
        project_name=project_name,
        model_name=key.model_name,
        isolation=key.isolation,
        price=price,
        unit_price=unit,
        held_microseconds=held_us,
        card_hours=card_hours(card_us),
        exact_amount=str(round_half_up(exact, EXACT_PLACES)),
        amount=money(exact, invoice.currency),
    )
