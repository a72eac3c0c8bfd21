"""Accounts of people, and what they choose for themselves."""

from zoneinfo import available_timezones

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from console.audit.services import record
from console.common import clock, ids
from console.common.actor import Actor, PlatformRole, TenantRole
from console.common.errors import Conflict, NotAllowed
from console.tenants.models import Membership, User
from console.tenants.services.checks import check_email, invalid

# separate powers: who watches or bills does no tenant's work
WATCHERS = frozenset({PlatformRole.FINANCE, PlatformRole.AUDITOR})
WORKING_ROLES = (TenantRole.OWNER, TenantRole.MEMBER)
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
        raise invalid("platform_role", f"must be one of {', '.join(PlatformRole)}, or empty")
    email = check_email(email)
    if User.objects.filter(email=email).exists():
        raise Conflict(f"an account for {email} exists already", code="email_taken")
    user = User(public_id=ids.make("usr"), email=email, platform_role=platform_role)
    user.username = user.public_id
    if platform_role:
        user.platform_role_at, user.platform_role_by = clock.now(), actor.label
    set_password(user, password)
    user.save()
    record(actor, "user.create", user, after={"email": email, "platform_role": platform_role})
    return user


@transaction.atomic
def update_profile(actor: Actor, user: User, *, language: str, theme: str, time_zone: str) -> User:
    """A person's own look, language and zone; empty means the browser's."""
    if actor.user_id != user.pk:
        raise NotAllowed("a profile is changed by its own person only")
    after = {"language": language, "theme": theme, "time_zone": time_zone}
    _check_choice("language", language, _LANGUAGES)
    _check_choice("theme", theme, _THEMES)
    if time_zone and time_zone not in available_timezones():
        raise invalid("time_zone", "must be an IANA name such as Asia/Shanghai")
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


@transaction.atomic
def set_platform_role(actor: Actor, user: User, role: str) -> User:
    """Gives or, by "", takes a platform role. Only a command on the server does: whoever may act through the console
    administers none of these powers, and so can neither have nor hand out more of them."""
    if not actor.is_system:
        raise NotAllowed("platform roles are given and taken by a command on the server only")
    if role and role not in set(PlatformRole):
        raise invalid("platform_role", f"must be one of {', '.join(PlatformRole)}, or empty")
    if user.kind != User.Kind.PERSON:
        raise invalid("platform_role", "is for people: a service account has none")
    if role in WATCHERS and Membership.objects.filter(user=user, role__in=WORKING_ROLES).exists():
        raise Conflict("finance officers and auditors do no tenant's work; end their tenant roles first")
    before = user.platform_role
    if before == role:
        return user
    user.platform_role, user.platform_role_by = role, actor.label if role else ""
    user.platform_role_at = clock.now() if role else None
    user.save(update_fields=["platform_role", "platform_role_at", "platform_role_by"])
    record(actor, "user.platform_role", user, before={"platform_role": before}, after={"platform_role": role})
    return user


def set_password(user: User, password: str) -> None:
    if not password:
        user.set_unusable_password()
        return
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise invalid("password", " ".join(error.messages)) from None
    user.set_password(password)


def _check_choice(field: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise invalid(field, f"must be one of {', '.join(filter(None, choices))}, or empty")
