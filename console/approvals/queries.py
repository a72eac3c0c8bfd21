"""Requests as the acting person may see them."""

from django.db.models import QuerySet

from console.approvals.actions import kinds_of
from console.approvals.models import Approval
from console.common import clock
from console.common.actor import Actor
from console.common.errors import NotAllowed, NotFound


def may_see(actor: Actor) -> bool:
    return actor.is_auditor or bool(kinds_of(actor))


def approvals_for(actor: Actor) -> QuerySet[Approval]:
    """Newest first: of what one may approve; auditors see all. Raises NotAllowed."""
    if not may_see(actor):
        raise NotAllowed("approvals are for operators, finance officers and auditors")
    rows = Approval.objects.order_by("-pk")
    return rows if actor.is_auditor else rows.filter(kind__in=kinds_of(actor))


def approval_for(actor: Actor, public_id: str) -> Approval:
    """Raises NotFound, also for one of another power."""
    found = approvals_for(actor).filter(public_id=public_id).first() if may_see(actor) else None
    if found is None:
        raise NotFound("there is no such request")
    return found


def waiting_for(rows: QuerySet[Approval]) -> QuerySet[Approval]:
    return rows.filter(state=Approval.State.PENDING, expires_at__gt=clock.now())
