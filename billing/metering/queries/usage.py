"""Usage summed by day, project, model, queue or tenant: exact, running work included."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from django.db.models import Sum

from billing.catalog import queries as catalog
from billing.metering.queries.live import LivePiece, unmetered
from billing.metering.queries.scope import records_for, tenants_for
from billing.rating.amounts import US_PER_HOUR
from console.common.actor import Actor
from console.tenants.models import Project, Tenant
from pool.scheduling.models import Queue

# grouping -> column of UsageRecord
BY: Final = {"day": "day", "project": "project_id", "model": "model_name", "queue": "queue_id", "tenant": "tenant_id"}


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """`first` and `last` are local days of the tenant, both included."""

    first: date
    last: date
    tenant_id: int | None = None
    project_id: int | None = None
    model_name: str = ""


@dataclass(slots=True)
class UsageRow:
    """`held_us`: microseconds held; `card_us`: the same times the charged share; `amounts`: exact, by currency."""

    key: Any
    label: str = ""
    held_us: int = 0
    card_us: Fraction = Fraction(0)
    amounts: dict[str, Fraction] = field(default_factory=dict)
    unrated_us: int = 0  # of held_us: no price held then

    @property
    def card_hours(self) -> Fraction:
        return self.card_us / US_PER_HOUR


@dataclass(frozen=True, slots=True)
class _Sum:
    key: Any
    price_id: int | None
    share: Fraction
    microseconds: int


def summary(actor: Actor, chosen: UsageFilter, by: str, now: datetime) -> list[UsageRow]:
    """Rows by `by` ("day", "project", "model", "queue" or "tenant"), in the order of their labels.

    Seven queries at most, however many rows.
    """
    sums = [*_recorded(actor, chosen, BY[by]), *_running(actor, chosen, BY[by], now)]
    rows = _rows(sums)
    labels = _labels(by, [row.key for row in rows])
    for row in rows:
        row.label = labels.get(row.key, str(row.key))
    return sorted(rows, key=lambda row: row.label)


def total(rows: Iterable[UsageRow]) -> UsageRow:
    """The sum of all rows."""
    result = UsageRow(key=None)
    amounts: dict[str, Fraction] = defaultdict(Fraction)
    for row in rows:
        result.held_us += row.held_us
        result.card_us += row.card_us
        result.unrated_us += row.unrated_us
        for currency, amount in row.amounts.items():
            amounts[currency] += amount
    result.amounts = dict(amounts)
    return result


def _recorded(actor: Actor, chosen: UsageFilter, column: str) -> Iterator[_Sum]:
    rows = records_for(actor).filter(day__range=(chosen.first, chosen.last))
    if chosen.tenant_id is not None:
        rows = rows.filter(tenant_id=chosen.tenant_id)
    if chosen.project_id is not None:
        rows = rows.filter(project_id=chosen.project_id)
    if chosen.model_name:
        rows = rows.filter(model_name=chosen.model_name)
    groups = rows.order_by().values_list(column, "price_id", "charge_num", "charge_den")
    for key, price_id, num, den, held in groups.annotate(held=Sum("microseconds")):
        yield _Sum(key, price_id, Fraction(num, den), held)


def _running(actor: Actor, chosen: UsageFilter, column: str, now: datetime) -> Iterator[_Sum]:
    allowed = tenants_for(actor)
    if chosen.tenant_id is not None:
        allowed = allowed.filter(pk=chosen.tenant_id)
    for row in unmetered(now, list(allowed.values_list("pk", flat=True))):
        if _matches(row, chosen):
            key = getattr(row, column)
            yield _Sum(key, row.price_id, row.share, row.microseconds)


def _matches(row: LivePiece, chosen: UsageFilter) -> bool:
    return (
        chosen.first <= row.day <= chosen.last
        and (chosen.project_id is None or row.project_id == chosen.project_id)
        and (not chosen.model_name or row.model_name == chosen.model_name)
    )


def _rows(sums: list[_Sum]) -> list[UsageRow]:
    prices = catalog.amounts(item.price_id for item in sums if item.price_id is not None)
    rows: dict[Any, UsageRow] = {}
    for item in sums:
        row = rows.setdefault(item.key, UsageRow(item.key))
        card_us = item.microseconds * item.share
        row.held_us += item.microseconds
        row.card_us += card_us
        if item.price_id is None:
            row.unrated_us += item.microseconds
            continue
        price, currency = prices[item.price_id]
        amount = Fraction(price) * card_us / US_PER_HOUR
        row.amounts[currency] = row.amounts.get(currency, Fraction(0)) + amount
    return list(rows.values())


def _labels(by: str, keys: list[Any]) -> dict[Any, str]:
    if by == "project":
        return dict(Project.objects.filter(pk__in=keys).values_list("pk", "slug"))
    if by == "queue":
        return dict(Queue.objects.filter(pk__in=keys).values_list("pk", "name"))
    if by == "tenant":
        return dict(Tenant.objects.filter(pk__in=keys).values_list("pk", "slug"))
    return {}
