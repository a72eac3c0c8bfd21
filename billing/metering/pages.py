"""Usage: by day, project, model, queue or tenant; its records; and the reconciliation."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from billing import config
from billing.catalog.models import Price
from billing.metering import filters, showing
from billing.metering.models import UsageRecord
from billing.metering.queries import Reconciliation, may_see_money, reconcile, summary, total
from billing.metering.queries.reconcile import Balance, GroupBalance
from billing.metering.showing import Shown
from billing.rating.amounts import card_hours
from billing.rating.calendar import day_start, local_day
from console.common import clock
from console.common.actor import Actor
from console.common.errors import NotAllowed
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of

SUMS = [
    Column(_("Group"), "label"),
    Column(_("Hours held"), lambda row: card_hours(row.held_us), "number"),
    Column(_("Card-hours"), lambda row: card_hours(row.card_us), "number"),
    Column(_("Amount"), lambda row: row.amounts[0][0] if row.amounts else None, "number"),
    Column(_("Currency"), lambda row: row.amounts[0][1] if row.amounts else None),
    Column(_("Hours without a price"), lambda row: card_hours(row.unrated_us), "number"),
]
RECORDS = [
    Column(_("Id"), "public_id"),
    Column(_("Kind"), "kind"),
    Column(_("Tenant"), "tenant.slug"),
    Column(_("Project"), "project.slug"),
    Column(_("Queue"), "queue.name"),
    Column(_("Job"), "interval.job.public_id"),
    Column(_("Job name"), "interval.job.name"),
    Column(_("Site"), "site.name"),
    Column(_("Model"), "model_name"),
    Column(_("Isolation"), "isolation"),
    Column(_("From (UTC)"), "starts_at", "time"),
    Column(_("To (UTC)"), "ends_at", "time"),
    Column(_("Day"), "day", "date"),
    Column(_("Microseconds"), "microseconds", "number"),
    Column(_("Charged share, numerator"), "charge_num", "number"),
    Column(_("Charged share, denominator"), "charge_den", "number"),
    Column(_("Price per card-hour"), lambda row: _price_of(row, "per_card_hour"), "number"),
    Column(_("Currency"), lambda row: row.price.book.currency if row.price else None),
]
BALANCES = [
    Column(_("Site"), "group.site"),
    Column(_("Model"), "group.model"),
    Column(_("Cards"), "group.devices", "number"),
    Column(_("Resource"), "resource"),
    Column(_("Capacity × time"), lambda row: card_hours(row.balance.capacity), "number"),
    Column(_("Billed"), lambda row: card_hours(row.balance.billed), "number"),
    Column(_("To be billed"), lambda row: card_hours(row.balance.running), "number"),
    Column(_("Idle"), lambda row: card_hours(row.balance.idle), "number"),
    Column(_("Unusable"), lambda row: card_hours(row.balance.unusable), "number"),
    Column(_("Down"), lambda row: card_hours(row.balance.down), "number"),
    Column(_("Unexplained"), lambda row: card_hours(row.balance.unexplained), "number"),
]
EXPORTED = 200_000
METERED_WITHIN = timedelta(minutes=3)  # beat meters what closed each minute


class BalanceRow(NamedTuple):
    """A line of the reconciliation's export, in card-hours."""

    group: GroupBalance
    resource: str
    balance: Balance


def _price_of(row: UsageRecord, field: str) -> object:
    price: Price | None = row.price
    return getattr(price, field) if price else None


def _reader(request: HttpRequest) -> Actor:
    actor = actor_of(request)
    if not may_see_money(actor):
        raise NotAllowed("usage and its cost are for owners and billing contacts of a tenant")
    return actor


@require_GET
def usage(request: HttpRequest) -> HttpResponse:
    """Filters: by (a tab), first, last, tenant, project, model."""
    where, rows, whole = _summed(request)
    context = {
        "where": where,
        "tabs": filters.tabs(where),
        "filters": filters.fields(where),
        "rows": rows,
        "whole": whole,
        "records_query": where.query(),
        "largest": max((row.card_us for row in rows), default=0),
        "reconciles": actor_of(request).sees_all_money,
    }
    return render(request, "billing/usage.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """The table as shown, its total last, as CSV or XLSX."""
    where, rows, whole = _summed(request)
    every = [*_by_currency(rows), *_by_currency([whole])]
    return export_response(request.GET.get("format", "csv"), every, SUMS, f"usage-by-{where.by}")


@require_GET
def chart(request: HttpRequest) -> JsonResponse:
    """Amounts by day of the filtered usage, in the platform's currency or the one there is."""
    actor = _reader(request)
    now = clock.now()
    where = filters.read(actor, request.GET, now)
    summed = summary(actor, where.chosen, "day", now)
    rows, whole = showing.table(summed, total(summed))
    own = config.currency()
    found = [currency for _, currency in whole.amounts]
    return JsonResponse(showing.figure(rows, own if own in found or not found else found[0]))


@require_GET
def records(request: HttpRequest) -> HttpResponse:
    """The records behind the sums, newest first; filters as on the usage page."""
    actor = _reader(request)
    where = filters.read(actor, request.GET, clock.now())
    page = page_of(filters.rows(actor, where), request.GET)
    context = {"where": where, "filters": filters.fields(where), "page": page}
    return render(request, "billing/usage_records.html", context)


@require_GET
def records_export(request: HttpRequest) -> HttpResponseBase:
    """The newest 200,000 of the filtered records, streamed."""
    actor = _reader(request)
    where = filters.read(actor, request.GET, clock.now())
    rows = filters.rows(actor, where)[:EXPORTED].iterator(chunk_size=1000)
    return export_response(request.GET.get("format", "csv"), rows, RECORDS, "usage-records")


@require_GET
def reconciliation(request: HttpRequest) -> HttpResponse:
    """Capacity x time against what is billed, for the days chosen (seller's zone), up to now."""
    where, result = _reconciled(request)
    context = {"where": where, "filters": filters.fields(where)[1:3], "result": result}
    return render(request, "billing/reconciliation.html", context)


@require_GET
def reconciliation_export(request: HttpRequest) -> HttpResponseBase:
    """The table as shown, as CSV or XLSX."""
    where, result = _reconciled(request)
    name = f"reconciliation-{where.chosen.first}-{where.chosen.last}"
    return export_response(request.GET.get("format", "csv"), _balance_rows(result), BALANCES, name)


def _balance_rows(result: Reconciliation) -> Iterator[BalanceRow]:
    for group in result.groups:
        yield BalanceRow(group, gettext("Compute"), group.compute)
        yield BalanceRow(group, gettext("Memory"), group.memory)


def _reconciled(request: HttpRequest) -> tuple[filters.Where, Reconciliation]:
    actor = actor_of(request)
    if not actor.sees_all_money:
        raise NotAllowed("the reconciliation is for finance, operators and auditors")
    now = clock.now()
    where = filters.read(actor, _today_first(request, now), now)
    zone = config.zone()
    start = day_start(where.chosen.first, zone)
    end = min(day_start(where.chosen.last + timedelta(days=1), zone), now)
    return where, reconcile(start, max(start, end), metered=now - METERED_WITHIN)


def _today_first(request: HttpRequest, now: datetime) -> dict[str, str]:
    today = local_day(now, config.zone()).isoformat()
    return {"first": request.GET.get("first") or today, "last": request.GET.get("last") or today}


def _summed(request: HttpRequest) -> tuple[filters.Where, list[Shown], Shown]:
    actor = _reader(request)
    now = clock.now()
    where = filters.read(actor, request.GET, now)
    summed = summary(actor, where.chosen, where.by, now)
    return where, *showing.table(summed, total(summed))


def _by_currency(rows: list[Shown]) -> list[Shown]:
    """One row a currency, so that a column of amounts holds one currency a line."""
    return [
        Shown(row.label, row.held_us, row.card_us, row.unrated_us, (pair,) if pair else ())
        for row in rows
        for pair in (row.amounts or (None,))
    ]
