"""Fragmentation, plans and their rules, for those who see all work; a tenant's own moves for the tenant."""

from dataclasses import dataclass, field, fields
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _

from console.common.actor import Actor
from console.common.errors import NotAllowed, NotFound
from pool.scheduling import queries
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules, DefragStep, FragmentationSample, Job


@dataclass(frozen=True, slots=True)
class RuleSet:
    """As models.DefragRules, which says what each means."""

    mode: str = DefragRules.Mode.APPROVE
    period_s: int = 1800
    windows: list[dict[str, Any]] = field(default_factory=list)
    time_zone: str = "Asia/Shanghai"
    busiest_percent: int = 50
    moves: int = 32
    lost_s: int = 36_000
    per_queue: int = 8
    parallel: int = 2
    rest_s: int = 300
    job_rest_s: int = 3600


def rules() -> RuleSet:
    """Those of the pool; the defaults while nobody has set any."""
    row = DefragRules.objects.filter(pk=1).first() or DefragRules(pk=1)
    return RuleSet(**{each.name: getattr(row, each.name) for each in fields(RuleSet)})


def may_see(actor: Actor) -> None:
    """Raises NotAllowed: how full the pool is tells a tenant what others hold."""
    if not actor.sees_all_work:
        raise NotAllowed(_("how full the pool is is told to operators and auditors"))


def samples_for(actor: Actor) -> QuerySet[FragmentationSample]:
    """Newest first, without the map; none for who does not see all work."""
    rows = FragmentationSample.objects.defer("cells").order_by("-at")
    return rows if actor.sees_all_work else rows.none()


def latest(actor: Actor) -> FragmentationSample | None:
    """With the map."""
    may_see(actor)
    return FragmentationSample.objects.order_by("-at").first()


def plans_for(actor: Actor) -> QuerySet[DefragPlan]:
    """Newest first; none for who does not see all work."""
    rows = DefragPlan.objects.order_by("-id")
    return rows if actor.sees_all_work else rows.none()


def plan_for(actor: Actor, public_id: str) -> DefragPlan:
    """With `steps` and their `moves`, in order. Raises NotFound."""
    moves = DefragMove.objects.select_related("job__tenant", "job__queue").order_by("number")
    steps = DefragStep.objects.select_related("job__tenant", "job__queue").order_by("number")
    found = (
        plans_for(actor)
        .prefetch_related(Prefetch("steps", steps.prefetch_related(Prefetch("moves", moves))))
        .filter(public_id=public_id)
        .first()
    )
    if found is None:
        raise NotFound(_("there is no such plan"))
    return found


def moves_of(actor: Actor, job: Job, most: int = 10) -> QuerySet[DefragMove]:
    """Of a job that came from a scoped query: those that were begun, newest first."""
    rows = DefragMove.objects.filter(queries.own(actor, "job__tenant"), job=job, started_at__isnull=False)
    return rows.order_by("-id")[:most]
