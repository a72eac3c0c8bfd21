"""Reads about people, tenants and tokens."""

from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest

from console.common import sql
from console.common.actor import Actor, ActorKind, PlatformRole, ProjectGrant, ProjectRole, TenantRole
from console.common.errors import NotFound
from console.tenants import secrets
from console.tenants.models import ApiToken, Invitation, Membership, Project, ServiceAccount, Tenant, User


class Memberships(NamedTuple):
    tenants: dict[int, TenantRole]
    projects: dict[int, ProjectGrant]


def actor_for_user(user: User, request: HttpRequest | None = None) -> Actor:
    """The actor of a signed-in person: platform role and every membership. One query."""
    held = _memberships(user)
    return Actor(
        kind=ActorKind.USER,
        ident=f"user:{user.public_id}",
        label=user.email,
        platform_role=PlatformRole(user.platform_role) if user.platform_role else None,
        tenants=held.tenants,
        projects=held.projects,
        user_id=user.pk,
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
    )


def token_with_memberships(digest: str) -> tuple[ApiToken, Memberships] | None:
    """A token with its user by the digest of its secret, and the user's memberships, in one trip."""
    with sql.together():
        tokens = _TOKEN.ask(digest)
        memberships = sql.ask(_MEMBERSHIPS.format(of=_USER_OF_TOKEN), digest)
    if not tokens.rows():
        return None
    token, token.user = tokens.rows()[0]
    return token, _held(memberships.rows())


def actor_for_token(
    token: ApiToken, request: HttpRequest | None = None, memberships: Memberships | None = None
) -> Actor:
    """The person behind a token, narrowed to the token's scopes and, when it names one, its tenant.

    A token bound to a tenant also loses the platform role: it acts as a member there and nothing else.
    """
    user = token.user
    tenants, projects = _memberships(user) if memberships is None else memberships
    role = PlatformRole(user.platform_role) if user.platform_role else None
    if token.tenant_id is not None:
        tenants = {key: value for key, value in tenants.items() if key == token.tenant_id}
        projects = {key: value for key, value in projects.items() if value.tenant_id == token.tenant_id}
        role = None
    return Actor(
        kind=ActorKind.TOKEN,
        ident=f"user:{user.public_id}",
        label=user.email,
        platform_role=role,
        tenants=tenants,
        projects=projects,
        scopes=frozenset(token.scopes),
        user_id=user.pk,
        via=f"token weir_{token.prefix}",
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
    )


def client_address(request: HttpRequest | None) -> str:
    return str(request.META.get("REMOTE_ADDR") or "") if request is not None else ""


def tenants_for(actor: Actor) -> QuerySet[Tenant]:
    """Every tenant for platform roles, else those the actor belongs to."""
    tenants = Tenant.objects.order_by("slug")
    if actor.sees_all_work or actor.sees_all_money:
        return tenants
    return tenants.filter(pk__in=actor.tenants)


def tenant_for(actor: Actor, slug: str) -> Tenant:
    """Raises NotFound for another's tenant just as for one that does not exist."""
    tenant = tenants_for(actor).filter(slug=slug).first()
    if tenant is None:
        raise NotFound(f"tenant {slug!r} was not found")
    return tenant


def projects_for(actor: Actor) -> QuerySet[Project]:
    return Project.objects.filter(tenant__in=tenants_for(actor)).select_related("tenant").order_by("slug")


def tokens_for(actor: Actor) -> QuerySet[ApiToken]:
    """The actor's own tokens, newest first; nobody sees another person's."""
    return ApiToken.objects.filter(user_id=actor.user_id or 0).select_related("tenant", "user").order_by("-id")


def revocable_token(actor: Actor, public_id: str) -> ApiToken:
    """One's own, one of a service account that one manages, or for an operator anyone's: a token that leaked is ended
    by its id in the audit log."""
    tokens = ApiToken.objects.select_related("tenant", "user")
    if not actor.is_operator:
        tokens = tokens.filter(Q(user_id=actor.user_id or 0) | _managed(actor, "user__service_account__"))
    token = tokens.filter(public_id=public_id).first()
    if token is None:
        raise NotFound(f"token {public_id!r} was not found")
    return token


def people_tenant_for(actor: Actor, public_id: str) -> Tenant:
    """The tenant whose people and projects the actor may see: its own, or all of them. Finance sees money, not people.

    Raises NotFound.
    """
    tenant = Tenant.objects.filter(scope(actor, "pk"), public_id=public_id).first()
    if tenant is None:
        raise NotFound("there is no such tenant")
    return tenant


def people_tenants_for(actor: Actor) -> QuerySet[Tenant]:
    return Tenant.objects.filter(scope(actor, "pk")).order_by("slug")


def scope(actor: Actor, column: str = "tenant_id") -> Q:
    return Q() if actor.sees_all_work else Q(**{f"{column}__in": list(actor.tenants)})


def members_of(actor: Actor, tenant: Tenant) -> QuerySet[Membership]:
    """People, by e-mail; service accounts have a list of their own."""
    rows = Membership.objects.filter(scope(actor), tenant=tenant, user__kind=User.Kind.PERSON)
    return rows.select_related("user").prefetch_related("project_roles__project")


def member_for(actor: Actor, tenant: Tenant, user_id: str) -> User:
    """Raises NotFound."""
    found = members_of(actor, tenant).filter(user__public_id=user_id).first()
    if found is None:
        raise NotFound("there is no such member")
    return found.user


def project_of(actor: Actor, tenant: Tenant, public_id: str) -> Project:
    """Raises NotFound."""
    rows = Project.objects.filter(scope(actor), tenant=tenant, public_id=public_id).select_related("tenant")
    found = rows.first()
    if found is None:
        raise NotFound("there is no such project")
    return found


def managed_project_for(actor: Actor, public_id: str) -> Project:
    """By its id alone. Raises NotFound."""
    found = Project.objects.filter(scope(actor), public_id=public_id).select_related("tenant").first()
    if found is None:
        raise NotFound("there is no such project")
    return found


def invitations_of(actor: Actor, tenant: Tenant) -> QuerySet[Invitation]:
    """Newest first; for who manages the tenant, and auditors. Others have none."""
    rows = Invitation.objects.filter(tenant=tenant).select_related("tenant").order_by("-pk")
    return rows if actor.may_manage(tenant.pk) or actor.sees_all_work else rows.none()


def invitation_for(actor: Actor, tenant: Tenant, public_id: str) -> Invitation:
    """Raises NotFound."""
    found = invitations_of(actor, tenant).filter(public_id=public_id).first()
    if found is None:
        raise NotFound("there is no such invitation")
    return found


def open_invitations(tenant: Tenant, now: datetime) -> QuerySet[Invitation]:
    return Invitation.objects.filter(tenant=tenant, accepted_at=None, revoked_at=None, expires_at__gt=now)


def invitation_by(secret: str, now: datetime) -> Invitation:
    """An invitation that can still be accepted, by the secret of its link. Raises NotFound.

    One whose inviter may not give the role any more is void.
    """
    rows = Invitation.objects.filter(digest=secrets.digest(secret), accepted_at=None, revoked_at=None)
    rows = rows.filter(expires_at__gt=now, invited_by__is_active=True).exclude(tenant__state=Tenant.State.CLOSED)
    found = rows.select_related("tenant", "invited_by").first()
    if found is None or found.invited_by is None:
        raise spent_invitation()
    if not actor_for_user(found.invited_by).may_manage(found.tenant_id):
        raise spent_invitation()
    return found


def spent_invitation() -> NotFound:
    return NotFound("this invitation was used already, was revoked, has expired, or never existed")


def service_accounts_of(actor: Actor, tenant: Tenant) -> QuerySet[ServiceAccount]:
    """Newest first, with their tokens that are not revoked as `live_tokens`; for who manages them, and auditors."""
    rows = ServiceAccount.objects.filter(tenant=tenant).select_related("tenant", "project", "user").order_by("-pk")
    if not actor.sees_all_work:
        rows = rows.filter(_managed(actor, ""))
    live = ApiToken.objects.filter(revoked_at__isnull=True).order_by("-pk")
    held = Membership.objects.prefetch_related("project_roles")
    return rows.prefetch_related(
        Prefetch("user__api_tokens", live, to_attr="live_tokens"), Prefetch("user__memberships", held)
    )


def service_account_for(actor: Actor, tenant: Tenant, public_id: str) -> ServiceAccount:
    """Raises NotFound."""
    found = service_accounts_of(actor, tenant).filter(public_id=public_id).first()
    if found is None:
        raise NotFound("there is no such service account")
    return found


def _managed(actor: Actor, path: str) -> Q:
    """Service accounts of owned tenants, and of projects that the actor is an admin of."""
    projects = [pk for pk, grant in actor.projects.items() if grant.role is ProjectRole.ADMIN]
    return Q(**{f"{path}tenant_id__in": actor.owned}) | Q(**{f"{path}project_id__in": projects})


def _memberships(user: User) -> Memberships:
    return _held(sql.fetch(_MEMBERSHIPS.format(of="%s"), user.pk))


def _held(rows: list[tuple[Any, ...]]) -> Memberships:
    """A line a role in a project, or one of the tenant without any."""
    tenants = {tenant: TenantRole(role) for tenant, role, _, _ in rows}
    projects = {
        project: ProjectGrant(tenant, ProjectRole(role)) for tenant, _, project, role in rows if project is not None
    }
    return Memberships(tenants, projects)


_TOKEN = sql.Reader("JOIN tenants_user u ON u.id = t.user_id WHERE t.digest = %s", t=ApiToken, u=User)
_USER_OF_TOKEN = "(SELECT user_id FROM tenants_apitoken WHERE digest = %s)"  # noqa: S105
_MEMBERSHIPS = (
    "SELECT m.tenant_id, m.role, p.project_id, p.role FROM tenants_membership m"
    " JOIN tenants_tenant t ON t.id = m.tenant_id LEFT JOIN tenants_projectmembership p ON p.membership_id = m.id"
    " WHERE m.user_id = {of} AND t.state <> 'closed'"
)
