"""An issued invoice, its lines and what they bill never change; numbers go up by one."""

from typing import Any

from billing import refusals

_WHY = "an issued invoice never changes"


def _frozen_part(table: str, short: str) -> list[Any]:
    """Nothing is added to, edited on or taken from the part of an invoice that is issued."""
    issued = "EXISTS (SELECT 1 FROM invoices_invoice WHERE id = {row}.invoice_id AND state = 'issued')"
    old, new = issued.format(row="OLD"), issued.format(row="NEW")
    return [
        refusals.refuse(f"weir_{short}_no_insert", table, "INSERT", _WHY, when=new),
        refusals.refuse(f"weir_{short}_no_update", table, "UPDATE", _WHY, when=f"{old} OR {new}"),
        refusals.refuse(f"weir_{short}_no_delete", table, "DELETE", _WHY, when=old),
    ]


TRIGGERS = [
    refusals.refuse("weir_invoice_no_update", "invoices_invoice", "UPDATE", _WHY, when="OLD.state = 'issued'"),
    refusals.refuse("weir_invoice_no_delete", "invoices_invoice", "DELETE", _WHY, when="OLD.state = 'issued'"),
    refusals.refuse(
        "weir_invoice_born_draft",
        "invoices_invoice",
        "INSERT",
        "an invoice begins as a draft",
        when="NEW.state <> 'draft'",
    ),
    *_frozen_part("invoices_invoiceline", "invoice_line"),
    *_frozen_part("invoices_billedusage", "billed_usage"),
    refusals.refuse(
        "weir_invoice_number_step",
        "invoices_invoicecounter",
        "UPDATE",
        "invoice numbers go up by one",
        when="NEW.last <> OLD.last + 1 OR NEW.year <> OLD.year",
    ),
    refusals.refuse(
        "weir_invoice_number_kept",
        "invoices_invoicecounter",
        "DELETE",
        "invoice numbers are never given twice",
    ),
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    refusals.install(editor, TRIGGERS)
