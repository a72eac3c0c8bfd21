"""Reads about people, tenants and tokens."""

from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest

from console.common import sql
from console.common.actor import Actor, ActorKind, PlatformRole, ProjectGrant, ProjectRole, TenantRole
from console.common.errors import NotFound
from console.tenants.models import ApiToken, Project, Tenant, User


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
    """One's own, or for an operator anyone's: a token that leaked is ended by its id in the audit log."""
    tokens = ApiToken.objects.select_related("tenant", "user") if actor.is_operator else tokens_for(actor)
    token = tokens.filter(public_id=public_id).first()
    if token is None:
        raise NotFound(f"token {public_id!r} was not found")
    return token


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
