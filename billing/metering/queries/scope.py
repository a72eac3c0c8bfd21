"""Whose money an actor may read."""

from django.db.models import QuerySet

from billing.metering.models import UsageRecord
from console.common.actor import Actor
from console.common.errors import NotFound
from console.tenants.models import Tenant


def tenants_for(actor: Actor) -> QuerySet[Tenant]:
    """Tenants whose usage and invoices the actor may read, by slug: all, or those where it is owner or billing
    contact."""
    rows = Tenant.objects.order_by("slug")
    if actor.sees_all_money:
        return rows
    return rows.filter(pk__in=[pk for pk in actor.tenants if actor.may_bill(pk)])


def may_see_money(actor: Actor) -> bool:
    """Whether there is any tenant whose money the actor may read."""
    return actor.sees_all_money or any(actor.may_bill(pk) for pk in actor.tenants)


def records_for(actor: Actor) -> QuerySet[UsageRecord]:
    """Usage records that the actor may read, newest first, with what a list shows."""
    rows = UsageRecord.objects.select_related(
        "tenant", "project", "queue", "site", "price__book", "interval__job"
    ).order_by("-pk")
    if actor.sees_all_money:
        return rows
    return rows.filter(tenant__in=tenants_for(actor))


def record_for(actor: Actor, public_id: str) -> UsageRecord:
    row = records_for(actor).filter(public_id=public_id).first()
    if row is None:
        raise NotFound(f"usage record {public_id!r} was not found")
    return row
