"""Roles in a tenant and in its projects. Nobody gives or takes a role of their own: docs/decisions/0022-roles.md."""

from django.db import transaction

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor, ProjectRole, TenantRole
from console.common.errors import Conflict, NotAllowed, NotFound
from console.tenants.models import Membership, Project, ProjectMembership, Tenant, User
from console.tenants.services.checks import invalid
from console.tenants.services.people import WATCHERS, WORKING_ROLES


@transaction.atomic
def add_member(actor: Actor, tenant: Tenant, user: User, role: str) -> Membership:
    """Adds a person, or changes their role. Nobody changes their own, and a tenant keeps an owner."""
    require_manager(actor, tenant)
    check_grant(actor, user, role)
    found = Membership.objects.filter(tenant=tenant, user=user).first()
    if found and found.role == role:
        return found
    if found:
        _keep_an_owner(found)
    return grant(actor, tenant, user, role, found)


def check_grant(actor: Actor, user: User, role: str) -> None:
    """Raises InvalidInput, NotAllowed, Conflict where this role is not for this account, or not from this actor."""
    if role not in set(TenantRole):
        raise invalid("role", f"must be one of {', '.join(TenantRole)}")
    if actor.user_id == user.pk:
        raise NotAllowed("you may not give yourself a role; ask another owner or an operator")
    if user.kind != User.Kind.PERSON:
        raise invalid("role", "of a service account is set where it is made")
    if user.platform_role in WATCHERS and role in WORKING_ROLES:
        raise Conflict("finance officers and auditors do no tenant's work: viewer or billing contact is possible")


def grant(actor: Actor, tenant: Tenant, user: User, role: str, found: Membership | None = None) -> Membership:
    """Writes what add_member or an invitation has checked."""
    before = {"role": found.role} if found else None
    facts = {"role": role, "granted_by": actor.label, "created_at": clock.now()}
    member, _ = Membership.objects.update_or_create(tenant=tenant, user=user, defaults=facts)
    if found and role in {TenantRole.OWNER, TenantRole.BILLING}:
        # an owner may do everything anyway; a billing contact begins anew
        ProjectMembership.objects.filter(membership=member).delete()
    action = "member.change" if before else "member.add"
    record(actor, action, user, tenant_id=tenant.pk, before=before, after={"role": role})
    return member


@transaction.atomic
def remove_member(actor: Actor, tenant: Tenant, user: User) -> None:
    """Ends all roles in the tenant, and the tokens bound to it. People may leave by themselves."""
    if actor.user_id != user.pk:
        require_manager(actor, tenant)
    found = Membership.objects.filter(tenant=tenant, user=user).first()
    if found is None:
        raise NotFound("this person is not a member of the tenant")
    if user.kind != User.Kind.PERSON:
        raise Conflict("a service account is closed, not removed")
    _keep_an_owner(found)
    end_membership(actor, found)


def end_membership(actor: Actor, found: Membership) -> None:
    """Writes what remove_member has checked, or what a sign-in provider takes back."""
    user, before = found.user, {"role": found.role}
    live = user.api_tokens.filter(tenant_id=found.tenant_id, revoked_at__isnull=True)
    ended = live.update(revoked_at=clock.now())
    found.delete()
    record(actor, "member.remove", user, tenant_id=found.tenant_id, before=before, after={"tokens_revoked": ended})


@transaction.atomic
def set_project_role(actor: Actor, project: Project, user: User, role: str) -> None:
    """What a member of the tenant may do in this project; "" leaves it to the role in the tenant."""
    if not actor.may_manage_project(project.tenant_id, project.pk):
        raise NotAllowed("roles in a project are given by its admins and by owners of the tenant")
    if actor.user_id == user.pk:
        raise NotAllowed("you may not give yourself a role; ask another admin or an owner")
    if role and role not in set(ProjectRole):
        raise invalid("role", f"must be one of {', '.join(ProjectRole)}, or empty")
    member = Membership.objects.filter(tenant_id=project.tenant_id, user=user).first()
    if member is None:
        raise invalid("user", "must be a member of the tenant")
    if member.role == TenantRole.OWNER:
        raise Conflict("an owner of the tenant may do everything in each project")
    if user.kind != User.Kind.PERSON:
        raise invalid("user", "is a service account: its role is set where it is made")
    if user.platform_role in WATCHERS and role in {ProjectRole.ADMIN, ProjectRole.MEMBER}:
        raise Conflict("finance officers and auditors do no tenant's work")
    found = ProjectMembership.objects.filter(membership=member, project=project).first()
    before = found.role if found else ""
    if before == role:
        return
    if role:
        facts = {"role": role, "granted_by": actor.label, "created_at": clock.now()}
        ProjectMembership.objects.update_or_create(membership=member, project=project, defaults=facts)
    elif found:
        found.delete()
    told = {"project": project.slug, "role": role}
    before_told = {"project": project.slug, "role": before}
    record(actor, "project.role", user, tenant_id=project.tenant_id, before=before_told, after=told)


def require_manager(actor: Actor, tenant: Tenant) -> None:
    if not actor.may_manage(tenant.pk):
        raise NotAllowed("only an owner of the tenant or an operator may do this")
    if tenant.state == Tenant.State.CLOSED:
        raise Conflict("the tenant is closed: its people and projects stay as they were")


def _keep_an_owner(leaving: Membership) -> None:
    if leaving.role != TenantRole.OWNER:
        return
    # takes the rows of all owners, so that two who leave at once do not both see the other
    owners = Membership.objects.filter(tenant_id=leaving.tenant_id, role=TenantRole.OWNER, user__is_active=True)
    owners.update(role=TenantRole.OWNER)
    if not owners.exclude(pk=leaving.pk).exists():
        raise Conflict("a tenant keeps at least one owner; make somebody else an owner first", code="last_owner")
