"""Every read of invoices, scoped by the actor."""

from datetime import date

from django.db.models import QuerySet

from billing.invoices.models import Invoice, InvoiceLine
from billing.metering.models import UsageRecord
from billing.metering.queries.scope import records_for, tenants_for
from console.common.actor import Actor
from console.common.errors import NotFound
from console.tenants.models import Tenant


def invoices_for(actor: Actor) -> QuerySet[Invoice]:
    """Newest first. A tenant sees its drafts too: they say what the month has cost so far."""
    rows = Invoice.objects.select_related("tenant").order_by("-pk")
    if actor.sees_all_money:
        return rows
    return rows.filter(tenant__in=tenants_for(actor))


def invoice_for(actor: Actor, public_id: str) -> Invoice:
    """Raises NotFound for another's just as for none."""
    invoice = invoices_for(actor).filter(public_id=public_id).first()
    if invoice is None:
        raise NotFound(f"invoice {public_id!r} was not found")
    return invoice


def lines_of(invoice: Invoice) -> list[InvoiceLine]:
    return list(invoice.lines.select_related("price", "project").order_by("position"))


def line_for(actor: Actor, invoice_id: str, public_id: str) -> InvoiceLine:
    invoice = invoice_for(actor, invoice_id)
    line = invoice.lines.select_related("invoice", "price").filter(public_id=public_id).first()
    if line is None:
        raise NotFound(f"line {public_id!r} was not found on this invoice")
    return line


def usage_of(actor: Actor, line: InvoiceLine) -> QuerySet[UsageRecord]:
    """The records that a line bills; their exact sum is its `exact_amount`."""
    return records_for(actor).filter(
        billed__invoice_id=line.invoice_id,
        project_id=line.project_id,
        model_name=line.model_name,
        isolation=line.isolation,
        price_id=line.price_id,
    )


def tenants_with_usage(first: date, last: date) -> list[Tenant]:
    """Those with records in the days given that are on no issued invoice, by slug. For the monthly drafts."""
    used = UsageRecord.objects.filter(day__range=(first, last)).exclude(billed__invoice__state=Invoice.State.ISSUED)
    return list(Tenant.objects.filter(pk__in=used.values("tenant_id")).order_by("slug"))
