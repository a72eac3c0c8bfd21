"""What the submit form offers: tenants, projects and queues of the actor, models, MIG profiles of the fleet."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from console.common.actor import Actor
from console.tenants import queries as tenants
from console.tenants.models import Tenant
from pool.engine.mig_tables import FAMILIES
from pool.scheduling.models import Queue
from pool.scheduling.pages import reads

Choices = list[tuple[str, str]]


def places(actor: Actor, chosen: str) -> dict[str, Choices]:
    """Choices of the fields tenant, project and queue; the last two are those of the chosen (or first) tenant."""
    own = [t for t in tenants.tenants_for(actor) if t.state == Tenant.State.ACTIVE and actor.may_work_in(t.pk)]
    tenant = next((t for t in own if t.slug == chosen), own[0] if own else None)
    if tenant is None:
        return {"tenant": [], "project": [], "queue": []}
    open_ones = tenants.projects_for(actor).filter(tenant=tenant, archived_at__isnull=True)
    projects = [(row.slug, row.name) for row in open_ones if actor.may_work_in(tenant.pk, row.pk)]
    queues = Queue.objects.filter(tenant=tenant).exclude(state=Queue.State.CLOSED).order_by("name")
    return {
        "tenant": [(t.slug, t.name) for t in own],
        "project": _default_first(projects),
        "queue": _default_first([(queue.name, _queue_label(queue)) for queue in queues]),
    }


def _default_first(options: Choices) -> Choices:
    return sorted(options, key=lambda option: (option[0] != "default", option[0]))


def _queue_label(queue: Queue) -> str:
    return _("%(name)s (held)") % {"name": queue.name} if queue.state == Queue.State.HELD else queue.name


def models() -> list[str]:
    return list(reads.offered_models().values_list("name", flat=True))


@dataclass(frozen=True, slots=True)
class Profile:
    """`on`: the models of the fleet that have it. `assumed`: NVIDIA has not published its placements."""

    name: str
    on: str
    assumed: bool


def mig_profiles() -> list[Profile]:
    """Profiles of the fleet's models, small ones first."""
    on: dict[str, list[str]] = {}
    size: dict[str, tuple[int, int]] = {}
    assumed: dict[str, bool] = {}
    for model in reads.offered_models().exclude(mig_family=""):
        family = FAMILIES.get(model.mig_family)
        for profile in family.profiles if family else ():
            on.setdefault(profile.name, []).append(model.name)
            size[profile.name] = (profile.units, profile.compute_slices)
            assumed[profile.name] = assumed.get(profile.name, False) or profile.assumed
    names = sorted(on, key=lambda name: (size[name], name))
    return [Profile(name, ", ".join(on[name]), assumed[name]) for name in names]
