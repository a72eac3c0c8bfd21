"""An invoice as PDF, set by Typst in the active language."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import typst
from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from billing.format import figure, money, unit_price
from billing.invoices import fonts
from billing.invoices.models import Invoice, InvoiceLine
from billing.rating.calendar import zone_of

TEMPLATE = Path(settings.BASE_DIR) / "templates" / "billing" / "invoice.typ"


def render(invoice: Invoice, lines: list[InvoiceLine]) -> bytes:
    """The same invoice gives the same bytes. Raises FontMissing."""
    data = contents(invoice, lines) | {"fonts": fonts.families()}
    compiled = typst.compile(
        TEMPLATE.read_bytes(),
        font_paths=fonts.found(),
        sys_inputs={"data": json.dumps(data, ensure_ascii=False)},
        timestamp=(invoice.issued_at or invoice.built_at).replace(microsecond=0),  # typst refuses a finer one
        format="pdf",
    )
    assert isinstance(compiled, bytes)
    return compiled


def contents(invoice: Invoice, lines: list[InvoiceLine]) -> dict[str, Any]:
    """What the template prints: text only, by the active language and locale."""
    language = translation.get_language() or "en"
    chinese = language.startswith("zh")
    return {
        "lang": "zh" if chinese else "en",
        "region": "CN" if chinese else "GB",
        "draft": not invoice.is_issued,
        "title": _("Invoice") if invoice.is_issued else _("Draft invoice"),
        "label": invoice.label if invoice.is_issued else _("not issued"),
        "seller": invoice.seller_name,
        "facts": _facts(invoice),
        "head": [
            _("No."),
            _("Project"),
            _("Product"),
            _("Card-hours"),
            _("Price per card-hour"),
            _("Amount"),
        ],
        "rows": [_row(invoice, line) for line in lines],
        "total": money(invoice.total, invoice.currency),
        "notes": _notes(invoice),
        "labels": {
            "draft": _("DRAFT"),
            "page": _("Page"),
            "seller": _("Issued by"),
            "total": _("Total"),
        },
    }


def _facts(invoice: Invoice) -> list[list[str]]:
    issued = invoice.issued_at
    return [
        [_("Billed to"), invoice.tenant_name],
        [_("Month"), date_format(invoice.month, "YEAR_MONTH_FORMAT")],
        [_("Issued on"), _local_date(issued, invoice.time_zone) if issued else "–"],
        [_("Currency"), invoice.currency],
    ]


def _row(invoice: Invoice, line: InvoiceLine) -> list[str]:
    return [
        str(line.position),
        line.project_name,
        f"{line.model_name} · {line.get_isolation_display()}",
        figure(line.card_hours, 6),
        unit_price(line.unit_price, invoice.currency),
        money(line.amount, invoice.currency),
    ]


def _notes(invoice: Invoice) -> list[str]:
    notes = [
        _("The month is that of the time zone %(zone)s.") % {"zone": invoice.time_zone},
        _(
            "Time is counted to the microsecond and charged for the held share of a card. Each amount is rounded"
            " once, half up; the total is the sum of the amounts. Amounts are before tax."
        ),
    ]
    if not invoice.is_issued:
        notes.append(_("This draft follows usage until it is issued; it is not a demand for payment."))
    return notes


def _local_date(moment: datetime, zone: str) -> str:
    return str(date_format(moment.astimezone(zone_of(zone)), "DATE_FORMAT"))
