"""Which tenant, project and queue a submission goes to: names from the request, scoped by the actor."""

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Case, QuerySet, When
from django.utils.translation import gettext as _

from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.tenants.models import Project, Tenant
from console.tenants.queries import tenants_for
from pool.scheduling.models import Queue
from pool.scheduling.spec import JobSpec

Row = TypeVar("Row", Project, Queue)


@dataclass(frozen=True, slots=True)
class Place:
    tenant: Tenant
    project: Project
    queue: Queue


def resolve(actor: Actor, spec: JobSpec) -> Place:
    """Raises InvalidInput, or NotAllowed where the role may only look.

    A foreign tenant reads exactly like one that does not exist.
    """
    tenant = _tenant(actor, spec.tenant)
    project = _one(Project.objects.filter(tenant=tenant), "slug", spec.project, "project")
    queue = _one(Queue.objects.filter(tenant=tenant), "name", spec.queue, "queue")
    return Place(tenant, project, queue)


def _tenant(actor: Actor, slug: str) -> Tenant:
    allowed = Tenant.objects.all()
    if not actor.is_operator:
        allowed = allowed.filter(pk__in=[pk for pk in actor.tenants if actor.may_work_in(pk)])
    if slug:
        found = allowed.filter(slug=slug).first()
        if found is None and tenants_for(actor).filter(slug=slug).exists():
            raise NotAllowed(_("your role in this tenant may look at jobs but not submit them"))
        if found is None:
            raise InvalidInput([FieldError("tenant", _("is not a tenant in which you may submit work"))])
        return found
    choices = list(allowed.order_by("pk")[:2])
    if not choices:
        raise NotAllowed(_("there is no tenant in which you may submit work"))
    if len(choices) > 1:
        raise InvalidInput([FieldError("tenant", _("must be given: you may submit work in several tenants"))])
    return choices[0]


def _one(rows: QuerySet[Row], column: str, name: str, field: str) -> Row:
    if name:
        found = rows.filter(**{column: name}).first()
        if found is None:
            raise InvalidInput([FieldError(field, _("there is none of this name in the tenant"))])
        return found
    # one query: the default if there is one, else the only one
    choices = list(rows.order_by(Case(When(**{column: "default"}, then=0), default=1), "pk")[:2])
    if not choices:
        raise InvalidInput([FieldError(field, _("the tenant has none yet; ask its owner to add one"))])
    if len(choices) > 1 and getattr(choices[0], column) != "default":
        raise InvalidInput([FieldError(field, _("must be given: the tenant has several"))])
    return choices[0]
