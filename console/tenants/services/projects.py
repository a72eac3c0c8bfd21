"""Projects of a tenant: made, renamed, archived, and their parts of its quota."""

from typing import Any

from django.db import transaction
from django.db.models import Sum

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput
from console.tenants import ports
from console.tenants.models import Project, Tenant
from console.tenants.services.checks import LIMITS, check_limits, check_name, check_slug
from console.tenants.services.roles import require_manager


@transaction.atomic
def create_project(actor: Actor, tenant: Tenant, slug: str, name: str) -> Project:
    require_manager(actor, tenant)
    check_slug(slug)
    name = check_name(name)
    if Project.objects.filter(tenant=tenant, slug=slug).exists():
        raise Conflict(f"project {slug} exists already in {tenant.slug}", code="slug_taken")
    project = Project.objects.create(tenant=tenant, slug=slug, name=name)
    record(actor, "project.create", project, tenant_id=tenant.pk, after={"slug": slug, "name": name})
    return project


@transaction.atomic
def rename_project(actor: Actor, project: Project, name: str) -> Project:
    """The name that people read; the slug, which requests use, stays."""
    require_manager(actor, project.tenant)
    name = check_name(name)
    before = Project.objects.values_list("name", flat=True).get(pk=project.pk)
    if before != name:
        Project.objects.filter(pk=project.pk).update(name=name)
        record(
            actor, "project.rename", project, tenant_id=project.tenant_id, before={"name": before}, after={"name": name}
        )
    project.name = name
    return project


@transaction.atomic
def set_archived(actor: Actor, project: Project, archived: bool) -> Project:
    """An archived project takes no new work; what waits or runs goes on, and its past stays in the books."""
    require_manager(actor, project.tenant)
    at = clock.now() if archived else None
    if Project.objects.filter(pk=project.pk, archived_at__isnull=archived).update(archived_at=at):
        record(actor, "project.archive" if archived else "project.reopen", project, tenant_id=project.tenant_id)
        project.archived_at = at
    return project


@transaction.atomic
def set_project_limits(
    actor: Actor, project: Project, *, limit_share_bp: int | None, limit_running_jobs: int | None
) -> Project:
    """The project's part of what the tenant may hold at once. The parts together are no more than the whole."""
    require_manager(actor, project.tenant)
    after: dict[str, Any] = {"limit_share_bp": limit_share_bp, "limit_running_jobs": limit_running_jobs}
    check_limits(after)
    # takes the tenant's row: two who split at once would each see what the other has not changed yet
    Tenant.objects.filter(pk=project.tenant_id).update(slug=project.tenant.slug)
    tenant = Tenant.objects.get(pk=project.tenant_id)
    _check_split(tenant, project, after)
    row = Project.objects.get(pk=project.pk)
    before = {name: getattr(row, name) for name in LIMITS}
    if before != after:
        Project.objects.filter(pk=project.pk).update(**after)
        record(actor, "project.limits", project, tenant_id=tenant.pk, before=before, after=after)
        ports.changed()
    for name in LIMITS:
        setattr(project, name, after[name])
    return project


def _check_split(tenant: Tenant, project: Project, after: dict[str, Any]) -> None:
    others = tenant.projects.filter(archived_at__isnull=True).exclude(pk=project.pk)
    taken = others.aggregate(**{name: Sum(name) for name in LIMITS})
    wrong = []
    for name in LIMITS:
        whole, part = getattr(tenant, name), after[name]
        if whole is None or part is None:
            continue
        left = max(0, whole - (taken[name] or 0))
        if part > left:
            shown = f"{left / 10_000:g} cards" if name == "limit_share_bp" else f"{left} jobs"
            wrong.append(FieldError(name, f"is more than the tenant has left to split: {shown}"))
    if wrong:
        raise InvalidInput(wrong)
