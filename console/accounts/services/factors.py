"""Who must have a second factor, and taking one away from a person who has lost it."""

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction

from console.accounts import policy
from console.accounts.models import BrowserSession, SecondFactorRule
from console.audit.services import record
from console.common.actor import Actor, PlatformRole
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import User


@transaction.atomic
def require_factor(actor: Actor, role: str) -> None:
    """From the next request on, people of this role do nothing before they have set one up."""
    _check(actor, role)
    _, new = SecondFactorRule.objects.get_or_create(role=role)
    if new:
        record(actor, "policy.second_factor", ("role", role), before={"required": False}, after={"required": True})


@transaction.atomic
def stop_requiring_factor(actor: Actor, role: str) -> None:
    """Takes back what a page has asked for; what the settings ask for stays."""
    _check(actor, role)
    if role in settings.WEIR_SECOND_FACTOR_ROLES:
        raise Conflict(f"the settings of this installation require a second factor of {role}", code="set_by_settings")
    if SecondFactorRule.objects.filter(role=role).delete()[0]:
        record(actor, "policy.second_factor", ("role", role), before={"required": True}, after={"required": False})


@transaction.atomic
def forget_factors(actor: Actor, user: User) -> None:
    """Of a person who has lost theirs: all factors go, every session ends; what is left is the password or a link.

    An operator may do so for people without a role in the installation. For the others it takes a command on the
    server: no role may open another power's account.
    """
    if not actor.is_operator:
        raise NotAllowed("only an operator takes second factors away from others")
    if actor.user_id == user.pk:
        raise NotAllowed("your own factors are changed on your own page")
    if user.platform_role in set(PlatformRole) and not actor.is_system:
        raise NotAllowed("of people with a role in the installation this is done by a command on the server")
    kinds = sorted(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    Authenticator.objects.filter(user=user).delete()
    Session.objects.filter(pk__in=BrowserSession.objects.filter(user=user).values("session_id")).delete()
    record(actor, "user.second_factor.reset", user, before={"factors": kinds})


def _check(actor: Actor, role: str) -> None:
    if not actor.is_operator:
        raise NotAllowed("only an operator sets who needs a second factor")
    if role not in policy.ROLES:
        raise InvalidInput([FieldError("role", f"must be one of {', '.join(policy.ROLES)}")])
