"""Invoices: the list, one invoice, and the usage behind a line."""

from contextlib import suppress
from datetime import date
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from billing import config
from billing.invoices import booking, queries, services
from billing.invoices.models import Invoice
from billing.ledger.services import check_finance
from billing.metering.queries import may_see_money, tenants_for
from billing.rating.calendar import local_day
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants.models import Tenant
from console.tenants.queries import tenant_for

COLUMNS = [
    Column(gettext_lazy("Number"), lambda row: row.label if row.is_issued else None),
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("Tenant"), "tenant.slug"),
    Column(gettext_lazy("Billed to"), "tenant_name"),
    Column(gettext_lazy("Month"), "month", "date"),
    Column(gettext_lazy("State"), "state"),
    Column(gettext_lazy("Total"), "total", "number"),
    Column(gettext_lazy("Currency"), "currency"),
    Column(gettext_lazy("Issued (UTC)"), "issued_at", "time"),
]


def reader(request: HttpRequest) -> Actor:
    """The actor, or NotAllowed where it may read nobody's invoices."""
    actor = actor_of(request)
    if not may_see_money(actor):
        raise NotAllowed("invoices are for owners and billing contacts of a tenant")
    return actor


@require_GET
def invoices(request: HttpRequest) -> HttpResponse:
    """Filters: tenant, state, month (YYYY-MM)."""
    actor = reader(request)
    tenants = list(tenants_for(actor))
    context = {
        "page": page_of(_filtered(actor, request), request.GET),
        "several": len(tenants) > 1,
        "filters": _filters(request, tenants),
        "filtered": any(request.GET.get(name) for name in ("tenant", "state", "month")),
        "tenants": tenants if actor.is_finance else [],
        "this_month": local_day(clock.now(), config.zone()).strftime("%Y-%m"),
        "may_draft": actor.is_finance,
    }
    return render(request, "billing/invoice_list.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    rows = _filtered(reader(request), request).iterator(chunk_size=1000)
    return export_response(request.GET.get("format", "csv"), rows, COLUMNS, "invoices")


@require_GET
def invoice(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = reader(request)
    found = queries.invoice_for(actor, public_id)
    context = {
        "invoice": found,
        "lines": queries.lines_of(found),
        "may_issue": actor.is_finance and not found.is_issued,
        "open": booking.open_amount(found) if found.is_issued else None,
        "may_settle": actor.is_finance,
    }
    return render(request, "billing/invoice.html", context)


@require_GET
def line(request: HttpRequest, public_id: str, line_id: str) -> HttpResponse:
    """The usage records that one line bills."""
    actor = reader(request)
    found = queries.line_for(actor, public_id, line_id)
    page = page_of(queries.usage_of(actor, found), request.GET)
    return render(request, "billing/invoice_line.html", {"line": found, "invoice": found.invoice, "page": page})


@require_POST
def draft(request: HttpRequest) -> HttpResponse:
    """Makes or refreshes the draft of a tenant's month."""
    actor = reader(request)
    tenant = tenant_for(actor, request.POST.get("tenant", "")[:64])
    return _answer(request, lambda: services.refresh(actor, tenant, _month(request.POST.get("month", ""))))


@require_POST
def refresh(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = reader(request)
    found = queries.invoice_for(actor, public_id)
    return _answer(request, lambda: services.refresh(actor, found.tenant, found.month), found)


@require_POST
def issue(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = reader(request)
    found = queries.invoice_for(actor, public_id)
    return _answer(request, lambda: services.issue(actor, found), found)


@require_POST
def settle(request: HttpRequest, public_id: str) -> HttpResponse:
    """Pays it from what the tenant has, as far as that goes."""
    actor = reader(request)
    found = queries.invoice_for(actor, public_id)
    check_finance(actor)
    try:
        booking.settle(actor, found)
        messages.success(request, _("It is paid from the balance, as far as that goes."))
    except Conflict as refusal:
        messages.warning(request, refusal.message)
    return redirect("billing:invoice_detail", found.public_id)


def _answer(request: HttpRequest, act: Any, found: Invoice | None = None) -> HttpResponse:
    """Does it, says how it went, and shows the invoice."""
    try:
        found = act()
    except Conflict as refusal:
        messages.warning(request, refusal.message)
        if found is None:
            return redirect("billing:invoice_list")
    else:
        issued = found.is_issued
        messages.success(request, _("The invoice is issued.") if issued else _("The draft is up to date."))
    return redirect("billing:invoice_detail", found.public_id)


def _month(text: str) -> date:
    wrong = InvalidInput([FieldError("month", "must be a year and month such as 2026-11")])
    try:
        month = date.fromisoformat(f"{text}-01")
    except ValueError:
        raise wrong from None
    if not 2000 <= month.year < 3000:  # whatever else a calendar knows, nobody was billed then
        raise wrong
    return month


def _filtered(actor: Actor, request: HttpRequest) -> QuerySet[Invoice]:
    rows = queries.invoices_for(actor)
    given = {name: request.GET.get(name, "").replace("\0", "")[:64] for name in ("tenant", "state", "month")}
    if given["tenant"]:
        rows = rows.filter(tenant__slug=given["tenant"])
    if given["state"] in Invoice.State.values:
        rows = rows.filter(state=given["state"])
    if given["month"]:
        with suppress(InvalidInput):  # what does not parse is ignored
            rows = rows.filter(month=_month(given["month"]))
    return rows


def _filters(request: HttpRequest, tenants: list[Tenant]) -> list[dict[str, Any]]:
    given = request.GET
    fields: list[dict[str, Any]] = [
        {
            "name": "state",
            "kind": "select",
            "label": _("State"),
            "value": given.get("state", ""),
            "options": Invoice.State.choices,
        },
        {"name": "month", "kind": "month", "label": _("Month"), "value": given.get("month", "")},
    ]
    if len(tenants) > 1:
        options = [(row.slug, row.name) for row in tenants]
        value = given.get("tenant", "")
        fields.append({"name": "tenant", "kind": "select", "label": _("Tenant"), "value": value, "options": options})
    return fields
