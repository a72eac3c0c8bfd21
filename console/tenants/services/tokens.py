"""API tokens: made, shown once, touched, revoked."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants import secrets
from console.tenants.models import ApiToken, ServiceAccount, Tenant, User
from console.tenants.scopes import SCOPES

MAX_DAYS = 366
_MAX_TOKENS = 50


@transaction.atomic
def create_token(
    actor: Actor, *, name: str, scopes: Iterable[str], tenant: Tenant | None = None, days: int = 90
) -> tuple[ApiToken, str]:
    """(row, secret). The secret is nowhere else and cannot be had again.

    A token never grants more than the actor has: a token makes only narrower tokens, within its own tenant.
    `days`: 1 to 366 until it expires.
    """
    user = User.objects.filter(pk=actor.user_id or 0, kind=User.Kind.PERSON).first()
    if user is None:
        raise NotAllowed("only a person has API tokens")
    return issue_token(actor, user, name=name, scopes=scopes, tenant_id=_tenant_id(actor, tenant), days=days)


@transaction.atomic
def issue_token(
    actor: Actor, user: User, *, name: str, scopes: Iterable[str], tenant_id: int | None, days: int
) -> tuple[ApiToken, str]:
    """For whom the caller has checked that `actor` may make one: a person's own, or a service account's."""
    name, scopes = name.strip(), sorted(set(scopes))
    _check(actor, name, scopes, days)
    if ApiToken.objects.filter(user=user, revoked_at__isnull=True).count() >= _MAX_TOKENS:
        raise Conflict(f"you have {_MAX_TOKENS} tokens already; revoke one first", code="too_many_tokens")
    secret = secrets.new_token()
    now = clock.now()
    token = ApiToken.objects.create(
        name=name,
        prefix=secret.prefix,
        digest=secret.digest,
        user=user,
        tenant_id=tenant_id,
        scopes=scopes,
        expires_at=now + timedelta(days=days),
    )
    facts = {"name": name, "prefix": secret.prefix, "scopes": scopes, "days": days}
    record(actor, "token.create", token, tenant_id=tenant_id, after=facts)
    return token, secret.text


@transaction.atomic
def revoke_token(actor: Actor, token: ApiToken) -> ApiToken:
    """At once and for good; revoking again changes nothing."""
    if actor.user_id != token.user_id and not actor.is_operator and not _manages(actor, token):
        raise NotAllowed("a token is revoked by its person or an operator; a service account's by who manages it")
    now = clock.now()
    if ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=now):
        record(actor, "token.revoke", token, tenant_id=token.tenant_id, after={"prefix": token.prefix})
        token.revoked_at = now
    return token


def touch_token(token: ApiToken, now: datetime, not_since: datetime) -> None:
    """Notes the use, unless it was noted after `not_since`. No audit entry: it is not a change by anyone."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=not_since)
    ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def _manages(actor: Actor, token: ApiToken) -> bool:
    account = ServiceAccount.objects.filter(user_id=token.user_id).first()
    if account is None:
        return False
    if account.project_id is not None and actor.may_manage_project(account.tenant_id, account.project_id):
        return True
    return actor.may_manage(account.tenant_id)


def _check(actor: Actor, name: str, scopes: list[str], days: int) -> None:
    errors = []
    if not name or len(name) > 100 or "\0" in name:
        errors.append(FieldError("name", "must be 1 to 100 characters"))
    if not scopes:
        errors.append(FieldError("scopes", f"must name at least one of {', '.join(SCOPES)}"))
    for scope in scopes:
        if scope not in SCOPES:
            errors.append(FieldError("scopes", f"{scope[:40]!r} is not one of {', '.join(SCOPES)}"))
        elif not actor.has_scope(scope):
            errors.append(FieldError("scopes", f"{scope} is more than your own token has"))
    if not 1 <= days <= MAX_DAYS:
        errors.append(FieldError("days", f"must be from 1 to {MAX_DAYS}"))
    if errors:
        raise InvalidInput(errors)


def _tenant_id(actor: Actor, tenant: Tenant | None) -> int | None:
    if tenant is not None and tenant.pk not in actor.tenants:
        raise InvalidInput([FieldError("tenant", "must be a tenant that you are a member of")])
    if tenant is not None:
        return tenant.pk
    if actor.scopes is None or actor.platform_role is not None:
        return None
    # the actor is a token, perhaps bound to a tenant: what it makes must not reach further
    if not actor.tenants:
        raise NotAllowed("this token reaches no tenant")
    return next(iter(actor.tenants)) if len(actor.tenants) == 1 else None
