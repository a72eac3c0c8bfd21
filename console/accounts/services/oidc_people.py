"""Who comes in through an OpenID provider, and with which roles: set anew at each sign-in.

A provider gives and takes back its own gifts only: a role that was given by hand is never touched. It speaks for the
e-mail domains that an operator has said it may speak for; a tenant's provider never opens an account that reaches
beyond its tenant.
"""

from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.db import transaction

from console.accounts.models import OidcGrant, OidcProvider
from console.audit.services import record
from console.common import clock
from console.common.actor import Actor, TenantRole, system
from console.common.errors import Conflict, NotAllowed
from console.tenants.models import Membership, Tenant, User
from console.tenants.services import add_member, create_user, end_membership, set_platform_role

# of several roles in one tenant the first of these counts
_RANK = (TenantRole.OWNER, TenantRole.MEMBER, TenantRole.BILLING, TenantRole.VIEWER)
Roles = dict[int | None, str]  # by tenant; None: the installation


def sign_in(provider: OidcProvider, claims: dict[str, Any], nobody: Actor) -> SocialAccount:
    """The account of the person, with present roles. Raises NotAllowed, with the reason in words, and records that."""
    actor = system("oidc", via=f"provider {provider.public_id}")
    try:
        wanted = _wanted(provider, _groups(provider, claims))
        with transaction.atomic():
            account = _account(provider, claims, actor, wanted)
            _apply(provider, account.user, wanted, actor)
        # after the commit: what is gone stays taken away
        if not account.user.platform_role and not Membership.objects.filter(user=account.user).exists():
            raise NotAllowed("none of your groups at the provider has a role here", code="no_role")
    except (NotAllowed, Conflict) as refusal:
        facts = {"reason": refusal.message, "subject": str(claims.get("sub", ""))[:80]}
        record(nobody, "auth.login", provider, tenant_id=provider.tenant_id, after=facts, result="refused")
        raise
    return account


def take_back(actor: Actor, grant: OidcGrant) -> None:
    """Ends one role that a provider gave, unless it was changed by hand since."""
    user = grant.user
    if grant.tenant_id is None:
        if user.platform_role == grant.role:
            set_platform_role(actor, user, "")
    else:
        held = Membership.objects.filter(user=user, tenant_id=grant.tenant_id, role=grant.role).select_related("user")
        for member in held:
            end_membership(actor, member)
    grant.delete()


def _groups(provider: OidcProvider, claims: dict[str, Any]) -> set[str]:
    given = claims.get(provider.groups_claim, [])
    if isinstance(given, str):
        return {given}
    return {each for each in given if isinstance(each, str)} if isinstance(given, list) else set()


def _wanted(provider: OidcProvider, groups: set[str]) -> Roles:
    found: dict[int | None, set[str]] = {}
    for mapping in provider.mappings.filter(group__in=groups):
        found.setdefault(mapping.tenant_id, set()).add(mapping.role)
    powers = found.pop(None, set())
    if len(powers) > 1:
        raise NotAllowed(f"your groups give you {' and '.join(sorted(powers))}: no account holds two of these powers")
    wanted: Roles = {tenant: next(role for role in _RANK if role in roles) for tenant, roles in found.items()}
    if powers:
        wanted[None] = powers.pop()
    return wanted


def _account(provider: OidcProvider, claims: dict[str, Any], actor: Actor, wanted: Roles) -> SocialAccount:
    subject = str(claims["sub"])
    found = SocialAccount.objects.select_related("user").filter(provider=provider.public_id, uid=subject).first()
    if found is not None:
        _check_may_open(provider, found.user, wanted)
        return found
    if not wanted:
        raise NotAllowed("none of your groups at the provider has a role here", code="no_role")
    email = _email(provider, claims)
    user = User.objects.filter(email=email).first()
    if user is not None:
        _check_may_open(provider, user, wanted)
    else:
        user = create_user(actor, email)
    account = SocialAccount.objects.create(provider=provider.public_id, uid=subject, user=user)
    record(actor, "user.oidc.connect", user, tenant_id=provider.tenant_id, after={"provider": provider.public_id})
    return account


def _email(provider: OidcProvider, claims: dict[str, Any]) -> str:
    email = str(claims.get("email") or "").strip().lower()
    if not email or claims.get("email_verified") not in {True, "true"}:
        raise NotAllowed("the provider does not vouch for your e-mail address")
    domain = email.rpartition("@")[2]
    if domain not in {each.lower() for each in provider.domains}:
        raise NotAllowed(f"this provider may not speak for addresses of {domain}; an operator can allow it")
    return email


def _check_may_open(provider: OidcProvider, user: User, wanted: Roles) -> None:
    """Whoever sets up a provider could come in as anyone it names, so it must not reach further than they do.

    An account with a power in the installation is opened only by a provider that gives it this very power, which a
    command on the server has allowed; a tenant's own provider opens none that reaches beyond its tenant.
    """
    if user.kind != User.Kind.PERSON:
        raise NotAllowed("a service account never signs in")
    ours = provider.grants.filter(user=user, tenant=None).exists()
    if user.platform_role and not ours and wanted.get(None) != user.platform_role:
        raise NotAllowed("this account has a role in the installation that the provider does not give")
    if provider.tenant_id is None:
        return
    reaches = set(Membership.objects.filter(user=user).values_list("tenant_id", flat=True))
    if user.platform_role or not reaches <= {provider.tenant_id}:
        raise NotAllowed("an account with this address exists, and reaches beyond the tenant of this provider")


def _apply(provider: OidcProvider, user: User, wanted: Roles, actor: Actor) -> None:
    given = {grant.tenant_id: grant for grant in provider.grants.select_related("user").filter(user=user)}
    for place, grant in given.items():
        if place not in wanted or (place is None and wanted[place] != grant.role):
            grant.user = user
            take_back(actor, grant)
    for place, role in wanted.items():
        if place is None:
            _give_power(provider, user, role, actor)
        else:
            _give_membership(provider, user, place, role, actor, by_us=place in given)


def _give_power(provider: OidcProvider, user: User, role: str, actor: Actor) -> None:
    if user.platform_role:  # by hand, by another provider, or ours already
        return
    set_platform_role(actor, user, role)
    _note(provider, user, None, role)


def _give_membership(
    provider: OidcProvider, user: User, tenant_id: int, role: str, actor: Actor, *, by_us: bool
) -> None:
    if not by_us and Membership.objects.filter(user=user, tenant_id=tenant_id).exists():
        return
    add_member(actor, Tenant.objects.get(pk=tenant_id), user, role)
    _note(provider, user, tenant_id, role)


def _note(provider: OidcProvider, user: User, tenant_id: int | None, role: str) -> None:
    facts = {"role": role, "granted_at": clock.now()}
    place: dict[str, Any] = {"tenant_id": tenant_id}
    OidcGrant.objects.update_or_create(provider=provider, user=user, **place, defaults=facts)
