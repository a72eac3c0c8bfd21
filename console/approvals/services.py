"""Asking, approving, refusing, withdrawing. The requester never approves; both rights are checked when it is done."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction

from console.approvals.actions import action_of
from console.approvals.models import Approval
from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed, WeirError
from console.tenants.models import User
from console.tenants.queries import actor_for_user

VALID = timedelta(hours=72)
_PENDING = Approval.State.PENDING


def request_approval(
    actor: Actor,
    kind: str,
    obj: tuple[str, str],
    label: str,
    arguments: dict[str, Any],
    reason: str,
    *,
    tenant_id: int | None = None,
) -> Approval:
    """Nothing is done yet. `arguments` are JSON and hold no secret. Raises NotAllowed, InvalidInput, Conflict."""
    action = action_of(kind)
    if not action.may(actor):
        raise NotAllowed(f"this is asked for by a person with the role {action.power}, signed in")
    reason = " ".join(reason.split())[:300]
    if not reason:
        raise InvalidInput([FieldError("reason", "is required: who approves reads it")])
    now = clock.now()
    try:
        with transaction.atomic():
            same = Approval.objects.filter(kind=kind, object_id=obj[1])
            same.filter(state=_PENDING, expires_at__lte=now).update(state=Approval.State.EXPIRED)
            row = Approval.objects.create(
                kind=kind,
                object_type=obj[0],
                object_id=obj[1],
                label=label[:200],
                tenant_id=tenant_id,
                arguments=arguments,
                reason=reason,
                requested_by_id=actor.user_id,
                requested_label=actor.label,
                requested_at=now,
                expires_at=now + VALID,
            )
            told = {"kind": kind, "object": obj[1], "reason": reason, "arguments": arguments}
            record(actor, "approval.request", row, tenant_id=tenant_id, after=told)
    except IntegrityError:
        raise Conflict("the same is asked for already and waits for a second person", code="asked_already") from None
    return row


def approve(actor: Actor, approval: Approval) -> Approval:
    """Does it, once, as who asked for it. What the act itself refuses is kept with the request, and nothing is done."""
    action = action_of(approval.kind)
    if actor.user_id == approval.requested_by_id:
        raise NotAllowed("you asked for it: somebody else approves")
    if not action.may(actor):
        raise NotAllowed(f"this is approved by a person with the role {action.power}, signed in")
    try:
        with transaction.atomic():
            _decide(actor, approval, Approval.State.EXECUTED, "")
            record(actor, "approval.approve", approval, tenant_id=approval.tenant_id, after={"kind": approval.kind})
            action.execute(_requester(approval, actor), approval, dict(approval.arguments))
    except (InvalidInput, Conflict, NotAllowed) as refusal:
        if isinstance(refusal, _Undecidable):
            raise
        return _fail(actor, approval, refusal)
    approval.refresh_from_db()
    return approval


def refuse(actor: Actor, approval: Approval, reason: str = "") -> Approval:
    """By another person with the right; by who asked it is a withdrawal."""
    own = actor.user_id is not None and actor.user_id == approval.requested_by_id
    if not own and not action_of(approval.kind).may(actor):
        raise NotAllowed("this is refused by who may approve it, or withdrawn by who asked for it")
    state = Approval.State.WITHDRAWN if own else Approval.State.REFUSED
    reason = " ".join(reason.split())[:300]
    with transaction.atomic():
        _decide(actor, approval, state, reason)
        action = "approval.withdraw" if own else "approval.refuse"
        record(actor, action, approval, tenant_id=approval.tenant_id, after={"kind": approval.kind, "reason": reason})
    approval.refresh_from_db()
    return approval


class _Undecidable(Conflict):
    """Somebody else decided, or it is too late: not a failure of the act."""


def _decide(actor: Actor, approval: Approval, state: Approval.State, outcome: str) -> None:
    """Of two who decide at once one wins: the condition stands in the UPDATE itself."""
    now = clock.now()
    facts = {"state": state, "decided_label": actor.label, "decided_at": now, "outcome": outcome}
    if not Approval.objects.filter(pk=approval.pk, state=_PENDING, expires_at__gt=now).update(**facts):
        raise _Undecidable("this request was decided already or has expired", code="decided_already")


def _requester(approval: Approval, approver: Actor) -> Actor:
    """Who asked, with the rights of now; the log shows through which approval, and the request of who approved."""
    user = User.objects.filter(pk=approval.requested_by_id or 0, is_active=True).first()
    asked = actor_for_user(user) if user else None
    if asked is None or not action_of(approval.kind).may(asked):
        raise NotAllowed("who asked for it may not do it any more")
    via = f"{approval.public_id} approved by {approver.label}"[:120]
    return replace(asked, via=via, request_id=approver.request_id, address=approver.address)


def _fail(actor: Actor, approval: Approval, refusal: WeirError) -> Approval:
    outcome = refusal.message[:500]
    with transaction.atomic():
        _decide(actor, approval, Approval.State.FAILED, outcome)
        told = {"kind": approval.kind, "outcome": outcome}
        record(actor, "approval.fail", approval, tenant_id=approval.tenant_id, after=told, result="failed")
    approval.refresh_from_db()
    return approval
