"""The access review: who has which role where, since when and by whom, and which tokens act for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.mfa.models import Authenticator
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from console.common.actor import Actor
from console.common.errors import NotAllowed
from console.tenants.models import ApiToken, Membership, User


@dataclass(frozen=True, slots=True)
class Line:
    """One role or token of one account. `where`: a tenant, tenant/project, or empty for the whole platform."""

    account: User
    kind: str  # role, token or none
    what: str
    word: str = ""  # of a role, for people
    where: str = ""
    since: datetime | None = None
    granted_by: str = ""
    scopes: str = ""
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


def may_review(actor: Actor) -> bool:
    return actor.is_auditor or bool(actor.owned)


def accounts_for(actor: Actor, text: str = "", tenant: str = "") -> QuerySet[User]:
    """Auditors: every account; owners: those with a role in their tenants, and of them only what concerns these.

    With `second_factor`, `held` (memberships with roles in projects) and `live_tokens`. Raises NotAllowed.
    """
    if not may_review(actor):
        raise NotAllowed("access is reviewed by auditors and by owners of a tenant")
    sees_all = actor.is_auditor
    own = Q() if sees_all else Q(tenant_id__in=actor.owned)
    members = Membership.objects.filter(own).select_related("tenant").prefetch_related("project_roles__project")
    # one without a tenant reaches each tenant of its person
    reaching = Q() if sees_all else own | Q(tenant_id=None)
    tokens = ApiToken.objects.filter(reaching, revoked_at=None).select_related("tenant")
    factor = Authenticator.objects.filter(user=OuterRef("pk")).exclude(type=Authenticator.Type.RECOVERY_CODES)
    rows = User.objects.annotate(second_factor=Exists(factor)).select_related("service_account")
    if not sees_all:
        rows = rows.filter(Exists(Membership.objects.filter(own, user=OuterRef("pk"))))
    if text:
        rows = rows.filter(Q(email__icontains=text) | Q(service_account__name__icontains=text))
    if tenant:
        rows = rows.filter(Exists(Membership.objects.filter(own, user=OuterRef("pk"), tenant__slug=tenant)))
    return rows.order_by("email").prefetch_related(
        Prefetch("memberships", members.order_by("pk"), to_attr="held"),
        Prefetch("api_tokens", tokens.order_by("-pk"), to_attr="live_tokens"),
    )


def lines_of(actor: Actor, account: Any) -> Iterator[Line]:
    """Roles first, then tokens; an account without either has one line too."""
    count = 0
    for line in _roles_and_tokens(actor, account):
        count += 1
        yield line
    if not count:
        yield Line(account, "none", "")


def _roles_and_tokens(actor: Actor, account: Any) -> Iterator[Line]:
    if account.platform_role and actor.is_auditor:
        since = account.platform_role_at or account.date_joined
        yield Line(
            account,
            "role",
            account.platform_role,
            account.get_platform_role_display(),
            "",
            since,
            account.platform_role_by,
        )
    for member in account.held:
        yield Line(
            account,
            "role",
            member.role,
            member.get_role_display(),
            member.tenant.slug,
            member.created_at,
            member.granted_by,
        )
        for one in member.project_roles.all():
            where = f"{member.tenant.slug}/{one.project.slug}"
            yield Line(account, "role", one.role, one.get_role_display(), where, one.created_at, one.granted_by)
    for token in account.live_tokens:
        where = token.tenant.slug if token.tenant else ""
        yield Line(
            account,
            "token",
            f"weir_{token.prefix}",
            where=where,
            since=token.created_at,
            scopes=" ".join(token.scopes),
            expires_at=token.expires_at,
            last_used_at=token.last_used_at,
        )
