"""The demo's finance officer: drafts the running month, so that there is a bill to look at from the second minute."""

from dataclasses import replace
from datetime import datetime

import structlog

from billing.invoices.building import last_day
from billing.invoices.queries import tenants_with_usage
from billing.invoices.services import refresh, zone_month
from console.common.actor import Actor
from console.common.errors import Conflict
from console.demo import queries
from console.demo.people import TENANTS, email
from console.tenants.models import Tenant

log = structlog.get_logger("weir.demo")
OFFICER = email("finance")
MOST = 5_000  # records: a draft of more is left to people, for its transaction holds SQLite's one lock


def draft_bills(now: datetime, most: int = MOST) -> int:
    """Brings the draft of each demo tenant's present month up to date; returns how many. Without the officer: none."""
    officer = queries.actor_of(OFFICER)
    if officer is None or not officer.is_finance:
        return 0
    return sum(_draft(replace(officer, via="demo"), tenant, now, most) for tenant in _tenants(now))


def _tenants(now: datetime) -> list[Tenant]:
    known = Tenant.objects.filter(slug__in=[tenant.slug for tenant in TENANTS]).order_by("pk")
    months = {tenant.pk: zone_month(tenant, now) for tenant in known}
    used = {month: tenants_with_usage(month, last_day(month)) for month in set(months.values())}
    return [tenant for tenant in known if tenant in used[months[tenant.pk]]]


def _draft(officer: Actor, tenant: Tenant, now: datetime, most: int) -> bool:
    month = zone_month(tenant, now)
    if queries.records_of(tenant, month, most + 1) > most:
        return False
    try:
        refresh(officer, tenant, month, now)
    except Conflict as refusal:  # somebody is trying out how to issue it
        log.debug("demo invoice left alone", tenant=tenant.slug, why=refusal.code)
        return False
    return True
