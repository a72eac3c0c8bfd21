"""Reads of the audit log, and the proof that nobody changed it."""

from django.db.models import Q, QuerySet

from console.audit.models import AuditEntry
from console.common.actor import Actor, PlatformRole, TenantRole
from console.common.errors import NotAllowed


def may_read(actor: Actor) -> bool:
    return _reads_all(actor) or TenantRole.OWNER in actor.tenants.values()


def entries_for(actor: Actor) -> QuerySet[AuditEntry]:
    """Operators and auditors: all; a tenant's owner: what touches that tenant. Others: NotAllowed."""
    if _reads_all(actor):
        return AuditEntry.objects.order_by("-pk")
    owned = [tenant for tenant, role in actor.tenants.items() if role is TenantRole.OWNER]
    if not owned:
        raise NotAllowed("the audit log is read by operators, auditors and tenant owners")
    return AuditEntry.objects.filter(Q(tenant_id__in=owned)).order_by("-pk")


def _reads_all(actor: Actor) -> bool:
    return actor.is_operator or actor.platform_role is PlatformRole.AUDITOR
