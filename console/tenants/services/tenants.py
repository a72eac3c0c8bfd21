"""Tenants: made, changed, suspended, resumed, closed."""

from typing import Any

from django.db import transaction

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, NotAllowed
from console.tenants import ports
from console.tenants.models import ApiToken, Invitation, Membership, ServiceAccount, Tenant, User
from console.tenants.services.checks import LIMITS, check_limits, check_name, check_slug, check_tenant, invalid
from console.tenants.services.sessions import end_sessions

RUNNING = ("keep", "stop")  # what becomes of work that runs when a tenant is suspended


@transaction.atomic
def create_tenant(actor: Actor, slug: str, name: str, **facts: Any) -> Tenant:
    """`facts`: currency (ISO 4217), time_zone (IANA), trust_group, limit_share_bp, limit_running_jobs."""
    if not actor.is_operator:
        raise NotAllowed("only an operator creates tenants")
    check_slug(slug)
    name = check_name(name)
    check_tenant(facts)
    if Tenant.objects.filter(slug=slug).exists():
        raise Conflict(f"a tenant {slug} exists already", code="slug_taken")
    tenant = Tenant.objects.create(slug=slug, name=name, **facts)
    record(actor, "tenant.create", tenant, tenant_id=tenant.pk, after={"slug": slug, "name": name, **facts})
    return tenant


@transaction.atomic
def suspend_tenant(actor: Actor, tenant: Tenant, running: str, reason: str) -> Tenant:
    """No new work: nothing is taken, nothing that waits starts. `running`: "keep" lets run what runs, "stop" ends it.

    People still sign in and see everything. The reason is for the audit log.
    """
    _check_operator(actor)
    if running not in RUNNING:
        raise invalid("running", f"must be one of {', '.join(RUNNING)}")
    reason = _reason(reason)
    _move(tenant, [Tenant.State.ACTIVE], Tenant.State.SUSPENDED)
    stopped = ports.stop_work(actor, tenant) if running == "stop" else 0
    told = {"state": "suspended", "running": running, "jobs_stopped": stopped, "reason": reason}
    record(actor, "tenant.suspend", tenant, tenant_id=tenant.pk, before={"state": "active"}, after=told)
    ports.changed()
    return tenant


@transaction.atomic
def resume_tenant(actor: Actor, tenant: Tenant) -> Tenant:
    """What waits may start again."""
    _check_operator(actor)
    _move(tenant, [Tenant.State.SUSPENDED], Tenant.State.ACTIVE)
    record(
        actor, "tenant.resume", tenant, tenant_id=tenant.pk, before={"state": "suspended"}, after={"state": "active"}
    )
    ports.changed()
    return tenant


@transaction.atomic
def close_tenant(actor: Actor, tenant: Tenant, reason: str = "") -> Tenant:
    """For good: its work ends, tokens, invitations and service accounts end, and sessions of people who belong to no
    other tenant. Jobs, books and the audit log stay. Through an approval only (console/approvals)."""
    _check_operator(actor)
    before = tenant.state
    _move(tenant, [Tenant.State.ACTIVE, Tenant.State.SUSPENDED], Tenant.State.CLOSED)
    stopped = ports.stop_work(actor, tenant)
    now = clock.now()
    people = list(Membership.objects.filter(tenant=tenant).values_list("user_id", flat=True))
    service = User.objects.filter(service_account__tenant=tenant)
    service.update(is_active=False)
    ServiceAccount.objects.filter(tenant=tenant, closed_at=None).update(closed_at=now)
    tokens = ApiToken.objects.filter(tenant=tenant, revoked_at=None).update(revoked_at=now)
    Invitation.objects.filter(tenant=tenant, accepted_at=None, revoked_at=None).update(revoked_at=now)
    elsewhere = Membership.objects.filter(user_id__in=people).exclude(tenant__state=Tenant.State.CLOSED)
    gone = set(people) - set(elsewhere.values_list("user_id", flat=True))
    sessions = end_sessions(User.objects.filter(pk__in=gone, platform_role="").values_list("pk", flat=True))
    told = {"state": "closed", "jobs_stopped": stopped, "tokens_revoked": tokens, "sessions_ended": sessions}
    told["reason"] = reason
    record(actor, "tenant.close", tenant, tenant_id=tenant.pk, before={"state": before}, after=told)
    ports.changed()
    return tenant


@transaction.atomic
def set_tenant_limits(
    actor: Actor, tenant: Tenant, *, limit_share_bp: int | None, limit_running_jobs: int | None
) -> Tenant:
    """What the tenant may hold at once. What runs goes on; over the limit nothing more starts."""
    _check_operator(actor)
    after: dict[str, Any] = {"limit_share_bp": limit_share_bp, "limit_running_jobs": limit_running_jobs}
    check_limits(after)
    if not Tenant.objects.filter(pk=tenant.pk).exclude(state=Tenant.State.CLOSED).update(slug=tenant.slug):
        raise Conflict("the tenant is closed: its quota stays as it was")
    row = Tenant.objects.get(pk=tenant.pk)
    before = {name: getattr(row, name) for name in LIMITS}
    if before != after:
        Tenant.objects.filter(pk=tenant.pk).update(**after)
        record(actor, "tenant.limits", tenant, tenant_id=tenant.pk, before=before, after=after)
        ports.changed()
    for name in LIMITS:
        setattr(tenant, name, after[name])
    return tenant


def _move(tenant: Tenant, allowed: list[Tenant.State], state: Tenant.State) -> None:
    if not Tenant.objects.filter(pk=tenant.pk, state__in=allowed).update(state=state):
        now = Tenant.objects.values_list("state", flat=True).get(pk=tenant.pk)
        raise Conflict(f"the tenant is {now}", code="wrong_state")
    tenant.state = state


def _check_operator(actor: Actor) -> None:
    if not actor.is_operator:
        raise NotAllowed("only an operator suspends, resumes and closes tenants, and sets their quota")


def _reason(reason: str) -> str:
    reason = " ".join(reason.split())[:300]
    if not reason:
        raise invalid("reason", "is required: it stands in the audit log")
    return reason
