"""Reads of the demo: how full its fleet is, whose actors submit, and how much there is to bill."""

from datetime import date

from django.db.models import Count, Q, Sum

from billing.invoices.building import last_day
from billing.metering.models import UsageRecord
from console.common.actor import Actor
from console.demo.fleet import SITES
from console.demo.load.pace import WHOLE, Level
from console.demo.people import TENANTS
from console.tenants.models import Tenant, User
from console.tenants.queries import actor_for_user
from pool.inventory.models import Device
from pool.scheduling.models import Job
from pool.scheduling.states import JobState


def level() -> Level:
    """Of the demo's sites, cards of nodes that answer and take work; and of what its tenants' queues hold."""
    usable = Q(node__reachable=True, node__state="ready", state="ready")
    cards = Device.objects.filter(node__site__name__in=[site.name for site in SITES]).aggregate(
        usable=Count("pk", filter=usable), held=Sum("used_share_bp", filter=usable)
    )
    waiting = Job.objects.filter(state=JobState.QUEUED, tenant__slug__in=[tenant.slug for tenant in TENANTS]).aggregate(
        jobs=Count("pk"), share=Sum("total_share_bp")
    )
    return Level(
        capacity_bp=WHOLE * cards["usable"],
        held_bp=cards["held"] or 0,
        queued_bp=waiting["share"] or 0,
        queued_jobs=waiting["jobs"],
    )


def actor_of(address: str) -> Actor | None:
    """The person as an actor; None when an operator has taken the account away."""
    user = User.objects.filter(email=address, is_active=True).first()
    return actor_for_user(user) if user else None


def records_of(tenant: Tenant, month: date, most: int) -> int:
    """Usage records of a month, counted up to `most`."""
    return UsageRecord.objects.filter(tenant=tenant, day__range=(month, last_day(month)))[:most].count()
