"""Closing a tenant, which a second operator approves."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from console.approvals.actions import Action
from console.approvals.models import Approval
from console.approvals.services import request_approval
from console.common.actor import Actor, PlatformRole
from console.common.errors import Conflict
from console.tenants.models import Tenant
from console.tenants.services import close_tenant


def ask_to_close(actor: Actor, tenant: Tenant, reason: str) -> Approval:
    """Raises NotAllowed, Conflict for a closed tenant or a request that waits already."""
    if tenant.state == Tenant.State.CLOSED:
        raise Conflict("the tenant is closed already")
    return request_approval(
        actor, CLOSE_TENANT.kind, ("tenant", tenant.public_id), tenant.name, {}, reason, tenant_id=tenant.pk
    )


def _close(actor: Actor, approval: Approval, arguments: dict[str, Any]) -> None:
    close_tenant(actor, Tenant.objects.get(public_id=approval.object_id), approval.reason)


CLOSE_TENANT = Action("tenant.close", _("Close a tenant"), PlatformRole.OPERATOR, _close)
