"""Celery tasks of invoices. Drafting is idempotent and goes on where a killed run stopped."""

from datetime import date, timedelta

import structlog
from celery import shared_task

from billing import config
from billing.invoices import booking, building, queries, services
from billing.rating.calendar import first_of, local_day
from console.audit import services as audit
from console.common import clock
from console.common.actor import system
from console.common.errors import Conflict
from console.common.sending import send
from console.tenants.models import Tenant

log = structlog.get_logger("weir.billing")
DAY_S = 86_400.0  # then the next round comes anyway


@shared_task(name="billing.invoices.tasks.draft_last_month")
def draft_last_month() -> None:
    """Drafts last month's invoice of every tenant with usage. Beat sends it daily; one message a tenant follows."""
    today = local_day(clock.now(), config.zone())
    month = first_of(first_of(today) - timedelta(days=1))
    for tenant in queries.tenants_with_usage(month, building.last_day(month)):
        send(draft, tenant.pk, month.isoformat(), expires=DAY_S)


@shared_task(name="billing.invoices.tasks.draft")
def draft(tenant_id: int, month: str) -> None:
    """Brings one draft up to date; an invoice that was issued meanwhile is left alone."""
    tenant = Tenant.objects.get(pk=tenant_id)
    try:
        services.refresh(system("invoices", via="monthly draft"), tenant, date.fromisoformat(month))
    except Conflict as refusal:
        log.info("draft left alone", tenant=tenant.public_id, month=month, why=refusal.code)


@shared_task(name="billing.invoices.tasks.check_books")
def check_books() -> int:
    """Books what is missing, then compares ledger, balances and invoices; returns how many faults. Beat sends it daily.

    A fault is logged and audited; nothing is mended by itself.
    """
    actor = system("books", via="daily check")
    booking.book_missing(actor)
    found = list(booking.every_fault())
    for fault in found:
        log.error("the books are wrong", what=fault.kind, id=fault.public_id, kept=fault.kept, said=fault.said)
        after = {"what": fault.kind, "kept": fault.kept, "said": fault.said}
        audit.record(actor, "ledger.check", (fault.kind, fault.public_id), after=after, result="failed")
    return len(found)
