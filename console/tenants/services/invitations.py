"""Invitations to a tenant: made, mailed, accepted once, revoked."""

import secrets
from datetime import datetime, timedelta
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils.translation import gettext as _

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor, TenantRole, system
from console.common.errors import Conflict, NotAllowed
from console.tenants import queries
from console.tenants.models import Invitation, Membership, Tenant, User
from console.tenants.secrets import digest
from console.tenants.services.checks import check_email, invalid
from console.tenants.services.people import create_user
from console.tenants.services.roles import check_grant, grant, require_manager

log = structlog.get_logger(__name__)
MAX_DAYS = 30
_MAX_OPEN = 200


@transaction.atomic
def invite(actor: Actor, tenant: Tenant, email: str, role: str, days: int = 7) -> tuple[Invitation, str]:
    """(row, secret). The secret, 256 random bits, is nowhere else; it works once, for this address, `days` long."""
    require_manager(actor, tenant)
    if actor.user_id is None:
        raise NotAllowed("only a person invites: the system adds members by a command")
    email = check_email(email)
    if role not in set(TenantRole):
        raise invalid("role", f"must be one of {', '.join(TenantRole)}")
    if not 1 <= days <= MAX_DAYS:
        raise invalid("days", f"must be from 1 to {MAX_DAYS}")
    now = clock.now()
    _check_invitee(actor, tenant, email, role, now)
    secret = secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        tenant=tenant,
        email=email,
        role=role,
        digest=digest(secret),
        invited_by_id=actor.user_id,
        invited_by_label=actor.label,
        expires_at=now + timedelta(days=days),
    )
    facts = {"email": email, "role": role, "expires_at": row.expires_at.isoformat()}
    record(actor, "invitation.create", row, tenant_id=tenant.pk, after=facts)
    return row, secret


def _check_invitee(actor: Actor, tenant: Tenant, email: str, role: str, now: datetime) -> None:
    member = Membership.objects.filter(tenant=tenant, user__email=email).select_related("user").first()
    if member is not None:
        raise Conflict(f"{email} is a member of the tenant already; change the role there", code="member_already")
    if actor.label == email:
        raise NotAllowed("you may not give yourself a role; ask another owner or an operator")
    waiting = queries.open_invitations(tenant, now)
    if waiting.filter(email=email).exists():
        raise Conflict(f"{email} is invited already; revoke that invitation first", code="invited_already")
    if waiting.count() >= _MAX_OPEN:
        raise Conflict(f"{_MAX_OPEN} invitations are open; revoke some first", code="too_many_invitations")


def mail_invitation(invitation: Invitation, link: str) -> bool:
    """Sends the link; False where no mail server is set up or it refused. Never inside a transaction."""
    if settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return False
    words = {"tenant": invitation.tenant.name, "by": invitation.invited_by_label, "link": link}
    subject = _("Invitation to %(tenant)s") % words
    text = _("%(by)s invites you to work in %(tenant)s. The link works once, and for this address only:\n\n%(link)s\n")
    try:
        send_mail(" ".join(subject.split()), text % words, None, [invitation.email])
    except (SMTPException, OSError) as error:
        # the page tells it and shows the link to hand over
        log.warning("invitation_not_mailed", invitation=invitation.public_id, error=type(error).__name__)
        return False
    Invitation.objects.filter(pk=invitation.pk).update(mailed_at=clock.now())
    return True


@transaction.atomic
def revoke_invitation(actor: Actor, invitation: Invitation) -> Invitation:
    """At once and for good; revoking again changes nothing. Raises Conflict for one that was accepted."""
    require_manager(actor, invitation.tenant)
    now = clock.now()
    ended = Invitation.objects.filter(pk=invitation.pk, revoked_at__isnull=True, accepted_at__isnull=True)
    if ended.update(revoked_at=now):
        told = {"email": invitation.email}
        record(actor, "invitation.revoke", invitation, tenant_id=invitation.tenant_id, after=told)
        invitation.revoked_at = now
    elif Invitation.objects.filter(pk=invitation.pk, accepted_at__isnull=False).exists():
        raise Conflict("the invitation was accepted; end the role of its person instead")
    return invitation


@transaction.atomic
def accept_invitation(secret: str, user: User | None, password: str = "") -> User:
    """Spends the link. `user`: who is signed in; None: a new person, who chooses a password.

    Raises NotFound for a link that is spent, expired, revoked or unknown, or whose inviter may not give the role any
    more; NotAllowed for another person than was invited; Conflict for a member.
    """
    now = clock.now()
    invitation = queries.invitation_by(secret, now)
    if user is not None and user.email != invitation.email:
        raise NotAllowed(_("this invitation is for another address; sign out and open the link again"))
    if user is None:
        if User.objects.filter(email=invitation.email).exists():
            raise Conflict(_("there is an account for this address; sign in and open the link again"))
        if not password:
            raise invalid("password", _("is required"))
        user = create_user(system("invitations", via=invitation.public_id), invitation.email, password=password)
    inviter = queries.actor_for_user(invitation.invited_by) if invitation.invited_by else None
    if inviter is None:
        raise queries.spent_invitation()
    check_grant(inviter, user, invitation.role)
    if Membership.objects.filter(tenant=invitation.tenant, user=user).exists():
        raise Conflict(_("you are a member of this tenant already"))
    # the condition stands in the UPDATE itself: of two at once one wins
    fresh = Invitation.objects.filter(
        pk=invitation.pk, accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=now
    )
    if not fresh.update(accepted_at=now, accepted_by=user):
        raise queries.spent_invitation()
    grant(inviter, invitation.tenant, user, invitation.role)
    told = {"email": invitation.email, "role": invitation.role}
    record(queries.actor_for_user(user), "invitation.accept", invitation, tenant_id=invitation.tenant_id, after=told)
    return user
