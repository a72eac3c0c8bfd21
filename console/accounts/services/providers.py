"""OpenID providers and what their groups mean here.

The installation's are an operator's. A tenant's owner sets up the tenant's own, which gives roles in that tenant and
nothing else; for which e-mail domains it speaks, and that its second factor counts, is for an operator to say.
"""

from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.db import transaction

from console.accounts.models import GroupRole, OidcProvider
from console.accounts.services.oidc_people import take_back
from console.audit.services import record
from console.common import sealed
from console.common.actor import Actor, PlatformRole, TenantRole, system
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import Tenant

_PURPOSE = "oidc client"
_TEXTS = {"name": 40, "issuer": 300, "client_id": 191, "scopes": 200, "groups_claim": 80}
_OPERATORS = ("domains", "brings_second_factor")
_FIELDS = {*_TEXTS, *_OPERATORS, "enabled"}
_MOST_DOMAINS = 50


@transaction.atomic
def create_provider(actor: Actor, tenant: Tenant | None, *, secret: str, **facts: Any) -> OidcProvider:
    """`facts`: name, issuer, client_id; scopes, groups_claim, enabled; by operators domains, brings_second_factor."""
    provider = OidcProvider(tenant=tenant)
    _require(actor, provider)
    if not secret or len(secret) > 500:
        raise InvalidInput([FieldError("secret", "must be 1 to 500 characters")])
    after = _set(actor, provider, facts)
    provider.secret = sealed.seal_text(_PURPOSE, secret)
    provider.save()
    record(actor, "oidc_provider.create", provider, tenant_id=provider.tenant_id, after={**after, "secret": "set"})
    return provider


@transaction.atomic
def change_provider(actor: Actor, provider: OidcProvider, *, secret: str = "", **facts: Any) -> OidcProvider:
    """Only what is given changes; an empty secret leaves it as it is. Another issuer has other people: all roles go."""
    _require(actor, provider)
    _require_no_power(actor, provider)
    if len(secret) > 500:
        raise InvalidInput([FieldError("secret", "must be at most 500 characters")])
    before = {name: getattr(provider, name) for name in facts if name in _FIELDS}
    after = {name: value for name, value in _set(actor, provider, facts).items() if before.get(name) != value}
    if secret:
        provider.secret = sealed.seal_text(_PURPOSE, secret)
        after["secret"] = "changed"  # noqa: S105 - that it was, not what it is
    if not after:
        return provider
    provider.save()
    if "issuer" in after:
        _forget_people(provider)
    told = {name: before[name] for name in after if name in before}
    record(actor, "oidc_provider.change", provider, tenant_id=provider.tenant_id, before=told, after=after)
    return provider


@transaction.atomic
def delete_provider(actor: Actor, provider: OidcProvider) -> None:
    """Every role that it gave is taken back; its people cannot sign in through it any more."""
    _require(actor, provider)
    _forget_people(provider)
    facts = {"name": provider.name, "issuer": provider.issuer}
    record(actor, "oidc_provider.delete", provider, tenant_id=provider.tenant_id, before=facts)
    provider.delete()


@transaction.atomic
def map_group(actor: Actor, provider: OidcProvider, group: str, role: str, tenant: Tenant | None) -> GroupRole:
    """From the next sign-in on, who is in `group` has `role` in `tenant`, or in the installation where there is none.

    A role in the installation is given by a command on the server only: no role may hand out another's power.
    """
    _require(actor, provider)
    _check_group(group)
    if tenant is None:
        _check_power(actor, provider, role)
    elif role not in set(TenantRole):
        raise InvalidInput([FieldError("role", f"must be one of {', '.join(TenantRole)}")])
    elif provider.tenant_id not in {None, tenant.pk}:
        raise NotAllowed("the provider of a tenant gives roles in that tenant only")
    if provider.mappings.filter(group=group, tenant=tenant).exists():
        raise Conflict("this group has a role there already; take it away first", code="group_taken")
    made = GroupRole.objects.create(provider=provider, group=group, role=role, tenant=tenant)
    record(actor, "oidc_group.map", provider, tenant_id=made.tenant_id, after={"group": group, "role": role})
    return made


@transaction.atomic
def unmap_group(actor: Actor, mapping: GroupRole) -> None:
    """Who had the role by this group loses it at their next sign-in."""
    _require(actor, mapping.provider)
    if GroupRole.objects.filter(pk=mapping.pk).delete()[0]:
        before = {"group": mapping.group, "role": mapping.role}
        record(actor, "oidc_group.unmap", mapping.provider, tenant_id=mapping.tenant_id, before=before)


def open_secret(provider: OidcProvider) -> str:
    return sealed.unseal_text(_PURPOSE, provider.secret)


def _require(actor: Actor, provider: OidcProvider) -> None:
    if actor.is_operator:
        return
    if provider.tenant_id is None or actor.tenants.get(provider.tenant_id) is not TenantRole.OWNER:
        raise NotAllowed("only an operator, or an owner of the provider's tenant, may do this")


def _require_no_power(actor: Actor, provider: OidcProvider) -> None:
    """Else whoever may change the issuer could come in with any power that the groups of the new one give."""
    if not actor.is_system and provider.mappings.filter(tenant=None).exists():
        raise NotAllowed(
            "groups of this provider give roles in the installation: end that first, by manage.py oidc_map"
        )


def _forget_people(provider: OidcProvider) -> None:
    for grant in provider.grants.select_related("user", "tenant"):
        take_back(system("oidc", via=f"provider {provider.public_id}"), grant)
    SocialAccount.objects.filter(provider=provider.public_id).delete()


def _check_power(actor: Actor, provider: OidcProvider, role: str) -> None:
    if not actor.is_system:
        raise NotAllowed("roles in the installation are given by a command on the server only: manage.py oidc_map")
    if provider.tenant_id is not None:
        raise NotAllowed("the provider of a tenant gives roles in that tenant only")
    if role not in set(PlatformRole):
        raise InvalidInput([FieldError("role", f"must be one of {', '.join(PlatformRole)}")])


def _check_group(group: str) -> None:
    if not group.strip() or len(group) > 200 or "\0" in group:
        raise InvalidInput([FieldError("group", "must be 1 to 200 characters")])


def _set(actor: Actor, provider: OidcProvider, facts: dict[str, Any]) -> dict[str, Any]:
    """Checks and sets; what was set."""
    from console.common import outbound

    errors = [FieldError(name, "is not a field of a provider") for name in sorted(set(facts) - _FIELDS)]
    for name, most in _TEXTS.items():
        value = facts.get(name, getattr(provider, name)).strip()
        if not value or len(value) > most or "\0" in value:
            errors.append(FieldError(name, f"must be 1 to {most} characters"))
    if "issuer" in facts and (fault := outbound.fault_of(facts["issuer"].strip())):
        errors.append(FieldError("issuer", fault))
    if "scopes" in facts and "openid" not in facts["scopes"].split():
        errors.append(FieldError("scopes", "must contain openid"))
    if "domains" in facts:
        errors += _domain_errors(facts["domains"])
    changed = [name for name in _OPERATORS if name in facts and facts[name] != getattr(provider, name)]
    if changed and not actor.is_operator:
        errors += [FieldError(name, "is set by an operator") for name in changed]
    if errors:
        raise InvalidInput(errors)
    made = {name: value.strip() if isinstance(value, str) else value for name, value in facts.items()}
    for name, value in made.items():
        setattr(provider, name, value)
    return made


def _domain_errors(domains: list[str]) -> list[FieldError]:
    wrong = [
        each for each in domains if "." not in each.strip(".") or not each.replace(".", "").replace("-", "").isalnum()
    ]
    found = [FieldError("domains", f"{each[:60]!r} must be a domain such as example.com") for each in wrong]
    if len(domains) > _MOST_DOMAINS:
        found.append(FieldError("domains", f"must be at most {_MOST_DOMAINS}"))
    return found
