"""Files of an invoice: PDF, and its lines and usage as CSV or XLSX."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from billing.invoices import pdf, queries
from billing.invoices.pages import reader
from billing.metering.pages import RECORDS
from console.common.exports import Column, export_response

LINES = [
    Column(_("No."), "position", "number"),
    Column(_("Project"), "project_name"),
    Column(_("Model"), "model_name"),
    Column(_("Isolation"), "isolation"),
    Column(_("Card-hours"), "card_hours", "number"),
    Column(_("Price per card-hour"), "unit_price", "number"),
    Column(_("Amount before rounding"), "exact_amount"),
    Column(_("Amount"), "amount", "number"),
    Column(_("Currency"), "invoice.currency"),
]


@require_GET
def pdf_file(request: HttpRequest, public_id: str) -> HttpResponse:
    """In the language of the page."""
    invoice = queries.invoice_for(reader(request), public_id)
    response = HttpResponse(pdf.render(invoice, queries.lines_of(invoice)), content_type="application/pdf")
    response["Content-Disposition"] = f'inline; filename="{invoice.label}.pdf"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_GET
def lines_file(request: HttpRequest, public_id: str) -> HttpResponseBase:
    invoice = queries.invoice_for(reader(request), public_id)
    lines = invoice.lines.select_related("invoice").order_by("position")
    return export_response(request.GET.get("format", "csv"), lines, LINES, invoice.label)


@require_GET
def usage_file(request: HttpRequest, public_id: str, line_id: str) -> HttpResponseBase:
    """Every usage record of a line, streamed."""
    actor = reader(request)
    line = queries.line_for(actor, public_id, line_id)
    rows = queries.usage_of(actor, line).iterator(chunk_size=1000)
    return export_response(request.GET.get("format", "csv"), rows, RECORDS, f"{line.invoice.label}-{line.position}")
