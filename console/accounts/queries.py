"""Reads about signing in."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db.models import QuerySet

from console.accounts import policy
from console.accounts.models import BrowserSession, GroupRole, Lock, OidcGrant, OidcProvider, SecondFactorRule
from console.accounts.policy import STATE
from console.common import sql
from console.common.actor import Actor, TenantRole
from console.common.errors import NotAllowed, NotFound

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
FACTOR_BY = "weir_factor_by"  # key in the session: the provider that asked for a second factor


def lacks_factor(actor: Actor, session: Mapping[str, Any]) -> bool:
    """Whether a signed-in person must set up a second factor before anything else. One query."""
    rows = sql.fetch(_STANDING, actor.user_id or 0, str(session.get(FACTOR_BY, "")))
    found = {kind for kind, _ in rows}
    if "has" in found:
        return False
    required = {role for kind, role in rows if kind == "role"} | set(settings.WEIR_SECOND_FACTOR_ROLES)
    return not required.isdisjoint(policy.roles_of(actor))


def ended(actor: Actor, session: Mapping[str, Any], now: datetime) -> str:
    """Why a session is over: "idle" or "absolute", or "" while it is not. No query."""
    state = session.get(STATE)
    if not state:
        return ""
    started, seen = (datetime.fromtimestamp(state[name], UTC) for name in ("started", "seen"))
    return policy.limits_of(policy.roles_of(actor)).over(started, seen, now)


def is_held_back(actor: Actor, session: Mapping[str, Any], now: datetime) -> bool:
    """Whether a websocket of this session must close: its time is over, or a second factor is missing."""
    return bool(ended(actor, session, now)) or lacks_factor(actor, session)


def required_roles() -> set[str]:
    """Of the settings, and of the page."""
    return set(settings.WEIR_SECOND_FACTOR_ROLES) | set(SecondFactorRule.objects.values_list("role", flat=True))


def factors_of(user_id: int) -> QuerySet[Authenticator]:
    found: QuerySet[Authenticator] = Authenticator.objects.filter(user_id=user_id, type__in=FACTORS)
    return found.order_by("pk")


def codes_left(user_id: int) -> int | None:
    """Unused recovery codes; None without any."""
    row = Authenticator.objects.filter(user_id=user_id, type=Authenticator.Type.RECOVERY_CODES).first()
    return None if row is None else len(row.wrap().get_unused_codes())


def sessions_for(actor: Actor) -> QuerySet[BrowserSession]:
    """The actor's own, newest first."""
    return BrowserSession.objects.filter(user_id=actor.user_id or 0).select_related("user").order_by("-id")


def session_for(actor: Actor, public_id: str) -> BrowserSession:
    rows = BrowserSession.objects.select_related("user") if actor.is_operator else sessions_for(actor)
    found = rows.filter(public_id=public_id).first()
    if found is None:
        raise NotFound(f"session {public_id!r} was not found")
    return found


def locks_for(actor: Actor) -> QuerySet[Lock]:
    """Every count of failed sign-ins, the locked ones too. Operators and auditors."""
    if not actor.sees_all_work:
        raise NotAllowed("failed sign-ins are seen by operators and auditors")
    return Lock.objects.order_by("-id")


def lock_for(actor: Actor, public_id: str) -> Lock:
    found = locks_for(actor).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(f"lock {public_id!r} was not found")
    return found


def coverage(actor: Actor) -> list[tuple[str, int, int]]:
    """(role, people who have it, of these with a second factor) of each role. Three queries."""
    if not actor.sees_all_work:
        raise NotAllowed("the sign-in policy is seen by operators and auditors")
    held = sql.fetch(_HELD)
    having = set(Authenticator.objects.filter(type__in=FACTORS).values_list("user_id", flat=True))
    people: dict[str, set[int]] = {role: set() for role in policy.ROLES}
    for role, user_id in held:
        people.setdefault(role, set()).add(user_id)
    return [(role, len(people[role]), len(people[role] & having)) for role in policy.ROLES]


def managed_by(user_ids: Iterable[int], seen_from: int | None = None) -> dict[int, str]:
    """The names of the OpenID providers through which people sign in; `seen_from`: not those of other tenants. One
    query."""
    ids = list(user_ids)
    rows = sql.fetch(_MANAGED.format(marks=sql.marks(ids)), *ids) if ids else []
    return {user: name for user, name, of in rows if seen_from is None or of in (None, seen_from)}


def sign_in_providers() -> QuerySet[OidcProvider]:
    """What the sign-in page offers to everyone: the installation's own. A tenant's has an address of its own."""
    return OidcProvider.objects.filter(tenant=None, enabled=True).order_by("name", "pk")


def providers_for(actor: Actor) -> QuerySet[OidcProvider]:
    """Operators and auditors: all; owners: those of their tenants. Others: NotAllowed."""
    rows = OidcProvider.objects.select_related("tenant").order_by("-id")
    if actor.sees_all_work:
        return rows
    owned = owned_by(actor)
    if not owned:
        raise NotAllowed("sign-in providers are seen by operators, auditors and tenant owners")
    return rows.filter(tenant_id__in=owned)


def owned_by(actor: Actor) -> list[int]:
    """Primary keys of the tenants that the actor owns."""
    return [tenant for tenant, role in actor.tenants.items() if role is TenantRole.OWNER]


def provider_for(actor: Actor, public_id: str) -> OidcProvider:
    found = providers_for(actor).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(f"sign-in provider {public_id!r} was not found")
    return found


def mapping_for(actor: Actor, provider: OidcProvider, public_id: str) -> GroupRole:
    found = provider.mappings.select_related("provider", "tenant").filter(public_id=public_id).first()
    if found is None:
        raise NotFound(f"group {public_id!r} was not found")
    return found


def people_of(provider: OidcProvider) -> QuerySet[OidcGrant]:
    """Whom it has given which role. The provider comes from `provider_for`."""
    return provider.grants.select_related("user", "tenant").order_by("user__email", "pk")


_STANDING = (
    "SELECT 'has', '' WHERE EXISTS"
    " (SELECT 1 FROM mfa_authenticator WHERE user_id = %s AND type IN ('totp', 'webauthn'))"
    " UNION ALL SELECT 'has', '' WHERE EXISTS"
    " (SELECT 1 FROM accounts_oidcprovider WHERE public_id = %s AND enabled AND brings_second_factor)"
    " UNION ALL SELECT 'role', role FROM accounts_secondfactorrule"
)
_MANAGED = (
    "SELECT a.user_id, p.name, p.tenant_id FROM socialaccount_socialaccount a"
    " JOIN accounts_oidcprovider p ON p.public_id = a.provider"
    " WHERE a.user_id IN ({marks}) ORDER BY a.id"
)
_HELD = (
    "SELECT platform_role, id FROM tenants_user WHERE is_active AND platform_role <> ''"
    " UNION SELECT m.role, m.user_id FROM tenants_membership m JOIN tenants_user u ON u.id = m.user_id"
    " JOIN tenants_tenant t ON t.id = m.tenant_id WHERE u.is_active AND t.state <> 'closed'"
)
