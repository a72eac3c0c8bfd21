"""Which tenant, project and queue a submission goes to: names from the request, scoped by the actor."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _

from console.common import sql
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.tenants.models import Project, Tenant
from console.tenants.queries import tenants_for
from pool.inventory.models import Hardware
from pool.scheduling.models import Queue
from pool.scheduling.spec import JobSpec


@dataclass(frozen=True, slots=True)
class Place:
    """`hardware`: the version of the hardware when it was read; None before there is any."""

    tenant: Tenant
    project: Project
    queue: Queue
    hardware: int | None = None


def resolve(actor: Actor, spec: JobSpec) -> Place:
    """Raises InvalidInput, or NotAllowed where the role may only look.

    A foreign tenant reads exactly like one that does not exist.
    """
    tenant = _tenant(actor, spec.tenant)
    with sql.together():
        projects = _PROJECTS.ask(tenant.pk, spec.project, spec.project)
        queues = _QUEUES.ask(tenant.pk, spec.queue, spec.queue)
    project = _one(projects.rows(), "slug", spec.project, "project")
    queue = _one(queues.rows(), "name", spec.queue, "queue")
    return Place(tenant, project, queue, queues.rows()[0][1].version)


def _tenant(actor: Actor, slug: str) -> Tenant:
    if slug:
        return _named(actor, slug)
    allowed = Tenant.objects.all()
    if not actor.is_operator:
        allowed = allowed.filter(pk__in=[pk for pk in actor.tenants if actor.may_work_in(pk)])
    choices = list(allowed.order_by("pk")[:2])
    if not choices:
        raise NotAllowed(_("there is no tenant in which you may submit work"))
    if len(choices) > 1:
        raise InvalidInput([FieldError("tenant", _("must be given: you may submit work in several tenants"))])
    return choices[0]


def _named(actor: Actor, slug: str) -> Tenant:
    row = _TENANT.first(slug)
    tenant: Tenant | None = row[0] if row else None
    if tenant is not None and (actor.is_operator or actor.may_work_in(tenant.pk)):
        return tenant
    if tenant is not None and tenants_for(actor).filter(pk=tenant.pk).exists():
        raise NotAllowed(_("your role in this tenant may look at jobs but not submit them"))
    raise InvalidInput([FieldError("tenant", _("is not a tenant in which you may submit work"))])


def _one(rows: list[tuple[Any, ...]], column: str, name: str, field: str) -> Any:
    """The one of this name; without a name the default if there is one, else the only one."""
    found = [row for row, *_others in rows]
    if not found and name:
        raise InvalidInput([FieldError(field, _("there is none of this name in the tenant"))])
    if not found:
        raise InvalidInput([FieldError(field, _("the tenant has none yet; ask its owner to add one"))])
    if not name and len(found) > 1 and getattr(found[0], column) != "default":
        raise InvalidInput([FieldError(field, _("must be given: the tenant has several"))])
    return found[0]


def _by_name(model: type[Model], column: str, join: str = "", **joined: type[Model]) -> sql.Reader:
    return sql.Reader(
        f"{join} WHERE x.tenant_id = %s AND (%s = '' OR x.{column} = %s)"
        f" ORDER BY CASE WHEN x.{column} = 'default' THEN 0 ELSE 1 END, x.id LIMIT 2",
        False,
        x=model,
        **joined,
    )


_TENANT = sql.Reader("WHERE t.slug = %s", t=Tenant)
_PROJECTS = _by_name(Project, "slug")
_QUEUES = _by_name(Queue, "name", "LEFT JOIN inventory_hardware h ON h.id = 1", h=Hardware)
