"""Every write of invoices.

Each transaction begins with an UPDATE of the invoice row that holds only while it is a draft: two writers of one
invoice wait for each other on PostgreSQL, and on SQLite there is one writer anyway.
"""

from datetime import date, datetime

import structlog
from django.db import transaction
from django.db.models import F

from billing import config
from billing.invoices import booking, building, checks
from billing.invoices.models import BilledUsage, Invoice, InvoiceCounter, InvoiceLine
from billing.rating.calendar import first_of, local_day, zone_of
from console.audit import services as audit
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import Tenant

log = structlog.get_logger("weir.billing")
SIZE = 500  # records a transaction: on SQLite each holds the one write lock


def refresh(actor: Actor, tenant: Tenant, month: date, now: datetime | None = None) -> Invoice:
    """Makes the draft of a tenant's month, or brings it up to date. Idempotent.

    `month` is any day of it. Raises NotAllowed (only finance), InvalidInput for a month that has not begun, or Conflict
    once the invoice is issued.
    """
    _check_finance(actor)
    now = now or clock.now()
    if first_of(month) > zone_month(tenant, now):
        raise InvalidInput([FieldError("month", "has not begun; a draft is of this month or an earlier one")])
    invoice, made = Invoice.objects.get_or_create(
        tenant=tenant,
        month=first_of(month),
        defaults={
            "currency": tenant.currency,
            "tenant_name": tenant.name,
            "seller_name": config.seller(),
            "time_zone": tenant.time_zone,
            "built_at": now,
        },
    )
    _attach(invoice)
    with transaction.atomic():
        _claim(invoice)
        _write_lines(invoice, tenant, now)
        if made:
            audit.record(
                actor, "invoice.draft", invoice, tenant_id=tenant.pk, after={"month": invoice.month.isoformat()}
            )
    invoice.refresh_from_db()
    return invoice


def issue(actor: Actor, invoice: Invoice, now: datetime | None = None) -> Invoice:
    """Gives the draft its number, and from then on nobody can change it.

    Raises NotAllowed (only finance), or Conflict: issued already, the month not over, usage not all metered or
    rated, or nothing to bill.
    """
    _check_finance(actor)
    now = now or clock.now()
    checks.month_is_over(invoice, now)
    checks.all_is_metered(invoice)
    _attach(invoice)
    with transaction.atomic():
        _claim(invoice)
        checks.nothing_is_left(invoice)
        invoice.refresh_from_db()
        _write_lines(invoice, invoice.tenant, now)
        invoice.refresh_from_db()
        checks.has_lines(invoice)
        year = local_day(now, config.zone()).year
        number = _next_number(year)
        Invoice.objects.filter(pk=invoice.pk).update(
            state=Invoice.State.ISSUED,
            year=year,
            number=number,
            issued_at=now,
            issued_by_label=actor.label[:200],
        )
        invoice.refresh_from_db()
        audit.record(
            actor,
            "invoice.issue",
            invoice,
            tenant_id=invoice.tenant_id,
            after={"number": invoice.label, "total": str(invoice.total), "currency": invoice.currency},
        )
        booking.book(actor, invoice, now)
    log.info("invoice issued", invoice=invoice.public_id, number=invoice.label)
    return invoice


def _claim(invoice: Invoice) -> None:
    drafts = Invoice.objects.filter(pk=invoice.pk, state=Invoice.State.DRAFT)
    if not drafts.update(revision=F("revision") + 1):
        raise Conflict("this invoice is issued and never changes", code="invoice_issued")


def _attach(invoice: Invoice) -> None:
    """Puts billable records on the draft, in short transactions. Killed half-way, the next call goes on."""
    while True:
        with transaction.atomic():
            _claim(invoice)
            ids = list(building.billable(invoice).order_by("pk").values_list("pk", flat=True)[:SIZE])
            BilledUsage.objects.bulk_create([BilledUsage(record_id=pk, invoice=invoice) for pk in ids])
        if len(ids) < SIZE:
            return


def _write_lines(invoice: Invoice, tenant: Tenant, now: datetime) -> None:
    """Replaces the draft's lines and head by what its records say now."""
    rows = building.lines(invoice)
    InvoiceLine.objects.filter(invoice=invoice).delete()
    InvoiceLine.objects.bulk_create(rows)
    Invoice.objects.filter(pk=invoice.pk).update(
        total=building.total(rows),
        tenant_name=tenant.name,
        seller_name=config.seller(),
        time_zone=tenant.time_zone,
        built_at=now,
    )


def _next_number(year: int) -> int:
    """Inside the issuing transaction: a rollback gives the number back, so there is no gap."""
    InvoiceCounter.objects.get_or_create(year=year)
    while True:
        last = InvoiceCounter.objects.values_list("last", flat=True).get(year=year)
        # waits for another issuer's row lock, and fails when that one took the number
        if InvoiceCounter.objects.filter(year=year, last=last).update(last=last + 1):
            return last + 1


def _check_finance(actor: Actor) -> None:
    # separate powers: an operator may read invoices, not make them
    if not actor.is_finance:
        raise NotAllowed("only a finance officer makes and issues invoices")


def zone_month(tenant: Tenant, now: datetime) -> date:
    """The first day of the tenant's present month."""
    return first_of(local_day(now, zone_of(tenant.time_zone)))
