"""Filters of the ledger's lists, read from the URL; what does not parse is ignored, never an error page."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from billing import config
from billing.ledger.models import Account, Posting
from billing.metering.queries import tenants_for
from billing.rating.calendar import day_start
from console.common.actor import Actor
from console.tenants.models import Tenant


def text(given: Mapping[str, Any], name: str) -> str:
    return str(given.get(name, "")).replace("\0", "").strip()[:100]


def tabs(actor: Actor, current: str) -> list[dict[str, Any]]:
    """For components/tabs.html; the books of all are for those who see all money."""
    shown = [("ledger_accounts", _("Accounts")), ("ledger_postings", _("Postings"))]
    if actor.sees_all_money:
        shown.append(("ledger_trial", _("Trial balance")))
    return [
        {"label": label, "url": reverse(f"billing:{name}"), "current": name == current, "count": None}
        for name, label in shown
    ]


def accounts(rows: QuerySet[Account], given: Mapping[str, Any]) -> QuerySet[Account]:
    rows = _of_tenant(rows, given)
    kind = text(given, "kind")
    return rows.filter(kind=kind) if kind in Account.Kind.values else rows


def postings(rows: QuerySet[Posting], given: Mapping[str, Any]) -> QuerySet[Posting]:
    rows = _of_tenant(rows, given)
    kind, reference = text(given, "kind"), text(given, "q")
    if kind in Posting.Kind.values:
        rows = rows.filter(kind=kind)
    return rows.filter(key__icontains=reference) if reference else rows


def fields(actor: Actor, given: Mapping[str, Any], kinds: list[tuple[str, Any]], label: str) -> list[dict[str, Any]]:
    """For components/filters.html."""
    shown = [{"name": "kind", "kind": "select", "label": label, "value": text(given, "kind"), "options": kinds}]
    return [*shown, *tenant_field(actor, given)]


def tenant_field(actor: Actor, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    options = [(row.slug, row.name) for row in tenants_for(actor)]
    if len(options) < 2:
        return []
    value = text(given, "tenant")
    return [{"name": "tenant", "kind": "select", "label": _("Tenant"), "value": value, "options": options}]


def tenant(actor: Actor, given: Mapping[str, Any]) -> Tenant | None:
    slug = text(given, "tenant")
    return tenants_for(actor).filter(slug=slug).first() if slug else None


def day(given: Mapping[str, Any]) -> date | None:
    try:
        found = date.fromisoformat(text(given, "last"))
    except ValueError:
        return None
    return found if 2000 <= found.year <= 9000 else None


def end_of(last: date | None) -> datetime | None:
    """The instant at which the day ends in the seller's zone; None: no end."""
    return None if last is None else day_start(last + timedelta(days=1), config.zone())


def _of_tenant(rows: QuerySet[Any], given: Mapping[str, Any]) -> QuerySet[Any]:
    slug = text(given, "tenant")
    return rows.filter(tenant__slug=slug) if slug else rows
