"""Invoices: list, one with its lines, and the PDF."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from billing.api.rows import InvoiceDetail, InvoiceRow, LineRow
from billing.api.usage import require_money
from billing.invoices import booking, files, queries
from billing.invoices.models import Invoice, InvoiceLine
from console.common.api import params
from console.common.api.views import ApiView, ListView, idempotent
from console.common.exports import Column

_MONTH = r"^[0-9]{4}-(0[1-9]|1[0-2])$"


class InvoiceFilters(params.Filters):
    tenant = serializers.CharField(required=False, max_length=64)
    state = serializers.ChoiceField(choices=Invoice.State.choices, required=False)
    month = serializers.RegexField(_MONTH, required=False, help_text="such as 2026-11")


class Invoices(ListView):
    """Invoices of your tenants, newest first; a draft says what its month has cost so far."""

    room = "billing"
    filters = InvoiceFilters
    row = InvoiceRow
    columns = [
        Column("id", "public_id"),
        Column("tenant", "tenant.slug"),
        Column("month", "month", "date"),
        Column("state", "state"),
        Column("year", "year", "number"),
        Column("number", "number", "number"),
        Column("total", "total", "number"),
        Column("currency", "currency"),
        Column("issued_at (UTC)", "issued_at", "time"),
    ]
    file_name = "invoices"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Invoice]:
        require_money(self.actor)
        rows = queries.invoices_for(self.actor)
        if "tenant" in wanted:
            rows = rows.filter(tenant__slug=wanted["tenant"])
        if "state" in wanted:
            rows = rows.filter(state=wanted["state"])
        return rows.filter(month=f"{wanted['month']}-01") if "month" in wanted else rows


class InvoicePage(ApiView):
    room = "billing"

    @extend_schema(responses={200: InvoiceDetail}, operation_id="invoices_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One invoice with its lines, whose amounts add up to its total."""
        require_money(self.actor)
        invoice = queries.invoice_for(self.actor, public_id)
        return Response(InvoiceDetail(invoice).data)


class InvoiceLines(ListView):
    """The lines of an invoice; `?format=csv` is the invoice as a table."""

    room = "billing"
    filters = params.Filters
    row = LineRow
    columns = [
        Column("position", "position", "number"),
        Column("project", "project_name"),
        Column("model", "model_name"),
        Column("isolation", "isolation"),
        Column("unit_price", "unit_price", "number"),
        Column("card_hours", "card_hours", "number"),
        Column("amount", "amount", "number"),
        Column("currency", "invoice.currency"),
    ]
    file_name = "invoice-lines"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[InvoiceLine]:
        require_money(self.actor)
        invoice = queries.invoice_for(self.actor, self.kwargs["public_id"])
        return invoice.lines.select_related("invoice")


class Settle(ApiView):
    room = "billing"

    @extend_schema(request=None, responses={200: InvoiceDetail}, operation_id="invoices_settle")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Pay what is open from the tenant's credits, then its stored value. Finance; 409 where nothing can be."""
        require_money(self.actor)
        invoice = queries.invoice_for(self.actor, public_id)
        booking.settle(self.actor, invoice)
        return Response(InvoiceDetail(invoice).data)


class InvoicePdf(ApiView):
    room = "billing"

    @extend_schema(responses={(200, "application/pdf"): OpenApiTypes.BINARY}, operation_id="invoices_pdf")
    def get(self, request: Request, public_id: str) -> HttpResponse:
        """The invoice as PDF."""
        return files.pdf_file(request._request, public_id)
