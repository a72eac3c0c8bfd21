"""A tenant that somebody can work in: with a project, a queue and the invitation of its first owner."""

from typing import Any

from django.db import transaction

from console.common.actor import Actor, TenantRole
from console.tenants import ports
from console.tenants.models import Invitation, Tenant
from console.tenants.services.invitations import invite
from console.tenants.services.projects import create_project
from console.tenants.services.tenants import create_tenant


@transaction.atomic
def set_up_tenant(
    actor: Actor, *, slug: str, name: str, owner: str = "", **facts: Any
) -> tuple[Tenant, tuple[Invitation, str] | None]:
    """All of it or nothing. `owner`: an e-mail address; "": owners are added later."""
    tenant = create_tenant(actor, slug, name, **facts)
    create_project(actor, tenant, "default", "Default")
    ports.prepare(actor, tenant)
    return tenant, invite(actor, tenant, owner, TenantRole.OWNER) if owner else None
