"""Tenants: made, changed, suspended, resumed, closed."""

from typing import Any

from django.db import transaction

from console.audit.services import record
from console.common.actor import Actor
from console.common.errors import Conflict, NotAllowed
from console.tenants.models import Tenant
from console.tenants.services.checks import check_name, check_slug, check_tenant


@transaction.atomic
def create_tenant(actor: Actor, slug: str, name: str, **facts: Any) -> Tenant:
    """`facts`: currency (ISO 4217), time_zone (IANA), trust_group, limit_share_bp, limit_running_jobs."""
    if not actor.is_operator:
        raise NotAllowed("only an operator creates tenants")
    check_slug(slug)
    name = check_name(name)
    check_tenant(facts)
    if Tenant.objects.filter(slug=slug).exists():
        raise Conflict(f"a tenant {slug} exists already", code="slug_taken")
    tenant = Tenant.objects.create(slug=slug, name=name, **facts)
    record(actor, "tenant.create", tenant, tenant_id=tenant.pk, after={"slug": slug, "name": name, **facts})
    return tenant
