"""Service accounts: programs with tokens of their own, which nobody signs in as."""

from collections.abc import Iterable

from django.db import transaction

from console.audit.services import record
from console.common import clock, ids
from console.common.actor import Actor, TenantRole
from console.common.errors import Conflict, NotAllowed
from console.tenants.models import (
    ApiToken,
    Membership,
    Project,
    ProjectMembership,
    ServiceAccount,
    Tenant,
    User,
)
from console.tenants.scopes import SERVICE_SCOPES
from console.tenants.services.checks import check_name, invalid
from console.tenants.services.tokens import issue_token

_ROLES = (TenantRole.MEMBER, TenantRole.VIEWER)
_MAX_ACCOUNTS = 200


@transaction.atomic
def create_service_account(
    actor: Actor, tenant: Tenant, *, name: str, role: str, project: Project | None = None
) -> ServiceAccount:
    """In the whole tenant, by its owners; or in one project, by its admins too: then it works there and only there."""
    _check_may(actor, tenant, project)
    if tenant.state == Tenant.State.CLOSED:
        raise Conflict("the tenant is closed: nothing is added to it")
    name = check_name(name, 100)
    if role not in _ROLES:
        raise invalid("role", f"must be one of {', '.join(_ROLES)}")
    if project is not None and project.tenant_id != tenant.pk:
        raise invalid("project", "there is none of this name in the tenant")
    if ServiceAccount.objects.filter(tenant=tenant, name=name).exists():
        raise Conflict(f"a service account {name} exists already in {tenant.slug}", code="name_taken")
    if tenant.service_accounts.filter(closed_at__isnull=True).count() >= _MAX_ACCOUNTS:
        raise Conflict(f"the tenant has {_MAX_ACCOUNTS} service accounts; close one first")
    account = ServiceAccount(public_id=ids.make("sva"), tenant=tenant, project=project, name=name)
    user = User(public_id=ids.make("usr"), kind=User.Kind.SERVICE)
    user.username, user.email = user.public_id, f"{account.public_id}@service.invalid"
    user.set_unusable_password()
    user.save()
    account.user, account.created_by = user, actor.label
    account.save()
    wide = role if project is None else TenantRole.VIEWER
    member = Membership.objects.create(user=user, tenant=tenant, role=wide, granted_by=actor.label)
    if project is not None:
        ProjectMembership.objects.create(membership=member, project=project, role=role, granted_by=actor.label)
    told = {"name": name, "role": role, "project": project.slug if project else None}
    record(actor, "service_account.create", account, tenant_id=tenant.pk, after=told)
    return account


def create_service_token(
    actor: Actor, account: ServiceAccount, *, name: str, scopes: Iterable[str], days: int = 90
) -> tuple[ApiToken, str]:
    """(row, secret), as tokens.create_token; the scopes are those of work, never of money, people or tokens."""
    _check_may(actor, account.tenant, account.project)
    if account.closed_at is not None:
        raise Conflict("the service account is closed")
    scopes = sorted(set(scopes))
    for scope in scopes:
        if scope not in SERVICE_SCOPES:
            raise invalid("scopes", f"{scope[:40]!r} is not one of {', '.join(SERVICE_SCOPES)}")
    return issue_token(actor, account.user, name=name, scopes=scopes, tenant_id=account.tenant_id, days=days)


@transaction.atomic
def close_service_account(actor: Actor, account: ServiceAccount) -> ServiceAccount:
    """Its tokens end at once; what it submitted goes on under its name. Closing again changes nothing."""
    _check_may(actor, account.tenant, account.project)
    now = clock.now()
    if ServiceAccount.objects.filter(pk=account.pk, closed_at__isnull=True).update(closed_at=now):
        User.objects.filter(pk=account.user_id).update(is_active=False)
        ended = ApiToken.objects.filter(user_id=account.user_id, revoked_at__isnull=True).update(revoked_at=now)
        told = {"tokens_revoked": ended}
        record(actor, "service_account.close", account, tenant_id=account.tenant_id, after=told)
        account.closed_at = now
    return account


def _check_may(actor: Actor, tenant: Tenant, project: Project | None) -> None:
    if actor.may_manage(tenant.pk):
        return
    if project is None or not actor.may_manage_project(tenant.pk, project.pk):
        raise NotAllowed("service accounts are for owners of the tenant, and in a project for its admins")
