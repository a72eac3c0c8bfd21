"""Makes the demo's rows. Every step looks before it writes, so that a second run changes nothing."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction

from billing.catalog.services import seed_default_prices
from console.common.actor import Actor, system
from console.demo.fleet import SITES, draft, nodes_of
from console.demo.people import OFFICERS, TENANTS, DemoQueue, DemoTenant, email
from console.tenants.models import Tenant, User
from console.tenants.services import add_member, create_project, create_tenant, create_user
from pool.inventory.models import Node
from pool.inventory.services import import_fleet
from pool.scheduling.services import QueueLimits, create_queue

WHOLE = 10_000
SEED = system("demo")


def seed(devices: int) -> None:
    """People, tenants, queues, prices and a fleet of `devices` cards; those of them that are missing.

    What an operator changed meanwhile stays. The accounts have no password: `manage.py sign_in_link` lets in.
    """
    for name, role in OFFICERS:
        _user(email(name), platform_role=role)
    for tenant in TENANTS:
        _tenant(tenant, devices)
    seed_default_prices(SEED)
    for site in SITES:
        _nodes(site.name, draft(site, nodes_of(site, devices)))


def _user(address: str, **more: Any) -> User:
    return User.objects.filter(email=address).first() or create_user(SEED, address, **more)


@transaction.atomic
def _tenant(demo: DemoTenant, devices: int) -> None:
    tenant = Tenant.objects.filter(slug=demo.slug).first() or create_tenant(
        SEED, demo.slug, demo.name, trust_group=demo.trust_group, limit_share_bp=_part(demo.limit, devices)
    )
    for name, role in demo.people:
        address = email(name, demo.slug)
        if not tenant.memberships.filter(user__email=address).exists():
            add_member(SEED, tenant, _user(address), role)
    for slug, name in demo.projects:
        if not tenant.projects.filter(slug=slug).exists():
            create_project(SEED, tenant, slug, name)
    for queue in demo.queues:
        if not tenant.queues.filter(name=queue.name).exists():
            _queue(SEED, tenant, queue, devices)


def _queue(actor: Actor, tenant: Tenant, demo: DemoQueue, devices: int) -> None:
    limits = QueueLimits(
        limit_share_bp=None if demo.limit is None else max(WHOLE, _part(demo.limit, devices)),
        limit_running_jobs=demo.limit_running_jobs,
        quota_share_bp=_part(demo.quota, devices),
        over_quota_weight=Decimal(demo.weight),
        priority=demo.priority,
    )
    create_queue(actor, tenant, demo.name, limits)


def _part(part: float, devices: int) -> int:
    return round(part * devices) * WHOLE


def _nodes(site: str, fleet: Any) -> None:
    """Nodes that are there already stay as they are: work may run on them, and cards may have been switched."""
    known = set(Node.objects.filter(site__name=site).values_list("name", flat=True))
    import_fleet(SEED, replace(fleet, nodes=tuple(node for node in fleet.nodes if node.name not in known)))
