"""Which tenant, project and queue a submission goes to: names from the request, scoped by the actor."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _

from console.common import bulk, sql
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.tenants.models import Project, Tenant
from console.tenants.queries import tenants_for
from pool.inventory.models import Hardware
from pool.scheduling.models import Job, Queue
from pool.scheduling.spec import JobSpec


@dataclass(frozen=True, slots=True)
class Place:
    """`hardware`: the version of the hardware when it was read; None before there is any.

    `keys`: for the job, where the database gives them ahead of its transaction.
    """

    tenant: Tenant
    project: Project
    queue: Queue
    hardware: int | None = None
    keys: bulk.Keys | None = None


def resolve(actor: Actor, spec: JobSpec) -> Place:
    """Raises InvalidInput, or NotAllowed where the role may only look.

    A foreign tenant reads exactly like one that does not exist.
    """
    slug = spec.tenant or _only_tenant(actor)
    with sql.together():
        tenants = _TENANT.ask(slug)
        projects = _PROJECTS.ask(slug, spec.project, spec.project)
        queues = _QUEUES.ask(slug, spec.queue, spec.queue)
        keys = bulk.ahead({Job: 1})
    tenant = _allowed(actor, tenants.rows())
    project = _one(projects.rows(), "slug", spec.project, "project")
    if project.archived_at is not None:
        raise InvalidInput([FieldError("project", _("is archived: it takes no new work"))])
    if not actor.may_work_in(tenant.pk, project.pk):
        raise NotAllowed(_("your role in this project may look at jobs but not submit them"))
    queue = _one(queues.rows(), "name", spec.queue, "queue")
    return Place(tenant, project, queue, queues.rows()[0][1].version, keys)


def _only_tenant(actor: Actor) -> str:
    allowed = Tenant.objects.all()
    if not actor.is_operator:
        allowed = allowed.filter(pk__in=[pk for pk in actor.tenants if actor.may_work_in(pk)])
    choices = list(allowed.order_by("pk")[:2])
    if not choices:
        raise NotAllowed(_("there is no tenant in which you may submit work"))
    if len(choices) > 1:
        raise InvalidInput([FieldError("tenant", _("must be given: you may submit work in several tenants"))])
    return choices[0].slug


def _allowed(actor: Actor, rows: list[tuple[Any, ...]]) -> Tenant:
    tenant: Tenant | None = rows[0][0] if rows else None
    if tenant is not None and actor.may_work_in(tenant.pk):
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
        f"{join} WHERE x.tenant_id = (SELECT id FROM tenants_tenant WHERE slug = %s) AND (%s = '' OR x.{column} = %s)"
        f" ORDER BY CASE WHEN x.{column} = 'default' THEN 0 ELSE 1 END, x.id LIMIT 2",
        False,
        x=model,
        **joined,
    )


_TENANT = sql.Reader("WHERE t.slug = %s", t=Tenant)
_PROJECTS = _by_name(Project, "slug")
_QUEUES = _by_name(Queue, "name", "LEFT JOIN inventory_hardware h ON h.id = 1", h=Hardware)
