"""Accounts, tenants, projects and memberships."""

from typing import Any
from zoneinfo import available_timezones

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email, validate_slug
from django.db import transaction

from console.audit.services import record
from console.common import ids
from console.common.actor import Actor, PlatformRole, TenantRole
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import Membership, Project, Tenant, User

_THEMES = ("", "system", "light", "dark")
_LANGUAGES = ("", "en", "zh-hans")


@transaction.atomic
def create_user(actor: Actor, email: str, *, password: str = "", platform_role: str = "") -> User:
    """A new account, known by e-mail; without a password it can only use a one-time link.

    Only the system (a command on the server) gives a platform role: no role may hand out another's power.
    """
    if not actor.is_operator:
        raise NotAllowed("only an operator creates accounts")
    if platform_role and not actor.is_system:
        raise NotAllowed("platform roles are given by a command on the server only")
    if platform_role and platform_role not in set(PlatformRole):
        raise _invalid("platform_role", f"must be one of {', '.join(PlatformRole)}, or empty")
    email = email.strip().lower()
    _check(validate_email, email, "email", "must be an e-mail address such as ada@example.com")
    if User.objects.filter(email=email).exists():
        raise Conflict(f"an account for {email} exists already", code="email_taken")
    user = User(public_id=ids.make("usr"), email=email, platform_role=platform_role)
    user.username = user.public_id
    _set_password(user, password)
    user.save()
    record(actor, "user.create", user, after={"email": email, "platform_role": platform_role})
    return user


@transaction.atomic
def create_tenant(actor: Actor, slug: str, name: str, **facts: Any) -> Tenant:
    """`facts`: currency (ISO 4217), time_zone (IANA), trust_group, limit_share_bp, limit_running_jobs."""
    if not actor.is_operator:
        raise NotAllowed("only an operator creates tenants")
    _check_slug(slug)
    _check_name(name)
    _check_tenant(facts)
    if Tenant.objects.filter(slug=slug).exists():
        raise Conflict(f"a tenant {slug} exists already", code="slug_taken")
    tenant = Tenant.objects.create(slug=slug, name=name.strip(), **facts)
    record(actor, "tenant.create", tenant, tenant_id=tenant.pk, after={"slug": slug, "name": name.strip(), **facts})
    return tenant


@transaction.atomic
def create_project(actor: Actor, tenant: Tenant, slug: str, name: str) -> Project:
    _require_owner(actor, tenant)
    _check_slug(slug)
    _check_name(name)
    if Project.objects.filter(tenant=tenant, slug=slug).exists():
        raise Conflict(f"project {slug} exists already in {tenant.slug}", code="slug_taken")
    project = Project.objects.create(tenant=tenant, slug=slug, name=name.strip())
    record(actor, "project.create", project, tenant_id=tenant.pk, after={"slug": slug, "name": name.strip()})
    return project


@transaction.atomic
def add_member(actor: Actor, tenant: Tenant, user: User, role: str) -> Membership:
    """Adds a person, or changes their role. Nobody changes their own."""
    _require_owner(actor, tenant)
    if role not in set(TenantRole):
        raise _invalid("role", f"must be one of {', '.join(TenantRole)}")
    if actor.user_id == user.pk:
        raise NotAllowed("you may not give yourself a role; ask another owner or an operator")
    found = Membership.objects.filter(tenant=tenant, user=user).first()
    before = {"role": found.role} if found else None
    if found and found.role == role:
        return found
    member, _ = Membership.objects.update_or_create(tenant=tenant, user=user, defaults={"role": role})
    record(
        actor,
        "member.change" if before else "member.add",
        user,
        tenant_id=tenant.pk,
        before=before,
        after={"role": role},
    )
    return member


@transaction.atomic
def update_profile(actor: Actor, user: User, *, language: str, theme: str, time_zone: str) -> User:
    """A person's own look, language and zone; empty means the browser's."""
    if actor.user_id != user.pk:
        raise NotAllowed("a profile is changed by its own person only")
    after = {"language": language, "theme": theme, "time_zone": time_zone}
    _check_choice("language", language, _LANGUAGES)
    _check_choice("theme", theme, _THEMES)
    if time_zone and time_zone not in available_timezones():
        raise _invalid("time_zone", "must be an IANA name such as Asia/Shanghai")
    before = {key: getattr(user, key) for key in after}
    changed = {key for key in after if before[key] != after[key]}
    if not changed:
        return user
    for key in changed:
        setattr(user, key, after[key])
    user.save(update_fields=sorted(changed))
    record(
        actor,
        "user.profile",
        user,
        before={key: before[key] for key in sorted(changed)},
        after={key: after[key] for key in sorted(changed)},
    )
    return user


def _require_owner(actor: Actor, tenant: Tenant) -> None:
    if not actor.is_operator and actor.tenants.get(tenant.pk) != TenantRole.OWNER:
        raise NotAllowed("only an owner of the tenant or an operator may do this")


def _set_password(user: User, password: str) -> None:
    if not password:
        user.set_unusable_password()
        return
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise _invalid("password", " ".join(error.messages)) from None
    user.set_password(password)


def _check_slug(slug: str) -> None:
    _check(validate_slug, slug, "slug", "must be letters, digits, - and _ only, such as research-1")
    if len(slug) > 64:
        raise _invalid("slug", "must be at most 64 characters")


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > 200 or "\0" in name:
        raise _invalid("name", "must be 1 to 200 characters")


def _check_tenant(facts: dict[str, Any]) -> None:
    allowed = {"currency", "time_zone", "trust_group", "limit_share_bp", "limit_running_jobs"}
    unknown = sorted(set(facts) - allowed)
    if unknown:
        raise InvalidInput([FieldError(name, "is not a field of a tenant") for name in unknown])
    currency = facts.get("currency", "CNY")
    if not (len(currency) == 3 and currency.isascii() and currency.isupper()):
        raise _invalid("currency", "must be an ISO 4217 code such as CNY")
    if facts.get("time_zone", "UTC") not in available_timezones():
        raise _invalid("time_zone", "must be an IANA name such as Asia/Shanghai")
    for name in ("limit_share_bp", "limit_running_jobs"):
        if facts.get(name) is not None and facts[name] < 0:
            raise _invalid(name, "must be 0 or more, or empty for no limit")


def _check_choice(field: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise _invalid(field, f"must be one of {', '.join(filter(None, choices))}, or empty")


def _check(validator: Any, value: str, field: str, message: str) -> None:
    try:
        validator(value)
    except ValidationError:
        raise _invalid(field, message) from None


def _invalid(field: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(field, message)])
