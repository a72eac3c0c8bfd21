"""Every read that a page or the API needs, scoped by the acting user."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import connection
from django.db.models import Count, F, Max, Model, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.db.models.lookups import In
from django.utils.translation import gettext as _

from console.common.actor import Actor
from console.common.errors import NotFound
from console.tenants.models import Tenant
from pool.scheduling.models import (
    Allocation,
    Attempt,
    Decision,
    Job,
    JobEvent,
    JobState,
    Queue,
    Replica,
)
from pool.scheduling.states import JOB_ACTIVE

Number = TypeVar("Number", int, float)
Row = TypeVar("Row", bound=Model)


def of_tenant(slug: str) -> Q:
    """The filter by a tenant's slug, on top of a scope. With its key the index by tenant is used, a join misses it."""
    return Q(tenant_id__in=list(Tenant.objects.filter(slug=slug).values_list("pk", flat=True)))


def own(actor: Actor, tenant: str = "tenant") -> Q:
    """The filter that scopes rows with a tenant to what the actor may see."""
    if actor.sees_all_work:
        return Q()
    return Q(**{f"{tenant}_id__in": list(actor.tenants)})


def jobs_for(actor: Actor) -> QuerySet[Job]:
    """Newest first; tenant, project, queue and sender are loaded once the rows are chosen.

    Joined, PostgreSQL looks them up for each row that a filter then drops (case web 18).
    """
    return Job.objects.filter(own(actor)).prefetch_related("tenant", "project", "queue", "submitted_by").order_by("-id")


def job_for(actor: Actor, public_id: str) -> Job:
    """Raises NotFound, also for another tenant's job: the two cannot be told apart."""
    jobs = Job.objects.filter(own(actor), public_id=public_id)
    job = jobs.select_related("tenant", "project", "queue", "submitted_by").first()
    if job is None:
        raise NotFound(_("there is no such job"))
    return job


def allocations_for(actor: Actor, live: bool = False) -> QuerySet[Allocation]:
    """Newest first; node, device, model, job and tenant are loaded."""
    rows = Allocation.objects.filter(own(actor)).select_related(
        "node__site", "device__model", "job", "tenant", "replica"
    )
    if live:
        rows = rows.filter(released_at__isnull=True)
    return rows.order_by("-id")


def replicas_for(actor: Actor) -> QuerySet[Replica]:
    return (
        Replica.objects.filter(own(actor, "job__tenant"))
        .select_related("node__site", "role", "attempt", "job")
        .order_by("attempt_id", "rank")
    )


def queues_for(actor: Actor) -> QuerySet[Queue]:
    """With `held_bp` (share held now), `waiting` and `active` (jobs)."""
    active = [JobState(state) for state in JOB_ACTIVE]
    held = (
        # tenant and state lead past all finished jobs and what they held, in whichever order they are looked for
        Allocation.objects.filter(
            tenant=OuterRef("tenant"), job__queue=OuterRef("pk"), job__state__in=active, released_at__isnull=True
        )
        .order_by()
        .values("job__queue")
        .annotate(total=Sum("share_bp"))
        .values("total")
    )
    return (
        Queue.objects.filter(own(actor))
        .select_related("tenant", "parent")
        .annotate(
            held_bp=Subquery(held),
            waiting=_jobs_of_queue([JobState.QUEUED]),
            active=_jobs_of_queue(active),
        )
        .order_by("tenant__slug", "name", "id")
    )


def _jobs_of_queue(states: list[JobState]) -> Coalesce:
    """A count over the index (queue, state): a join would read the queue's whole history."""
    jobs = Job.objects.filter(queue=OuterRef("pk"), state__in=states).order_by().values("queue")
    return Coalesce(Subquery(jobs.annotate(n=Count("pk")).values("n")), 0)


def queue_for(actor: Actor, public_id: str) -> Queue:
    """Raises NotFound."""
    queue = queues_for(actor).filter(public_id=public_id).first()
    if queue is None:
        raise NotFound(_("there is no such queue"))
    return queue


def decisions_for(actor: Actor, job: Job) -> QuerySet[Decision]:
    """Of a job that came from a scoped query; newest first."""
    return Decision.objects.filter(own(actor, "job__tenant"), job=job).order_by("-id")


def all_decisions_for(actor: Actor) -> QuerySet[Decision]:
    """Newest first; the job with tenant and queue is loaded."""
    rows = Decision.objects.filter(own(actor, "job__tenant")).select_related("job__tenant", "job__queue")
    return rows.order_by("-id")


def decision_for(actor: Actor, public_id: str) -> Decision:
    """Raises NotFound, also for one about another tenant's job."""
    decision = all_decisions_for(actor).filter(public_id=public_id).first()
    if decision is None:
        raise NotFound(_("there is no such decision"))
    return decision


def attempts_for(actor: Actor, job: Job) -> QuerySet[Attempt]:
    return Attempt.objects.filter(own(actor, "job__tenant"), job=job).select_related("decision").order_by("-number")


def timeline(actor: Actor, job: Job) -> QuerySet[JobEvent]:
    """Oldest first."""
    return JobEvent.objects.filter(own(actor, "job__tenant"), job=job).order_by("id")


def recent_events(actor: Actor, most: int) -> QuerySet[JobEvent]:
    """What the actor may see of the newest `most` events of all jobs, newest first."""
    return _lately(actor, JobEvent.objects.select_related("job__tenant"), most)


def _lately(actor: Actor, rows: QuerySet[Row], most: int) -> QuerySet[Row]:
    """The actor's part of the newest `most` rows of jobs, newest first: read from the end of the table.

    From SQLite the sum hides the tenant: it would begin with the whole history of the tenant's jobs.
    """
    newest = rows.aggregate(newest=Max("pk"))["newest"] or 0
    rows = rows.filter(pk__gt=newest - most).order_by("-pk")
    if actor.sees_all_work or connection.vendor != "sqlite":
        return rows.filter(own(actor, "job__tenant"))
    return rows.filter(In(F("job__tenant_id") + 0, list(actor.tenants)))


def open_counts(actor: Actor) -> dict[str, int]:
    """Waiting and active jobs by state, 0 where there are none. The history is not read: it has no end."""
    states = [JobState.QUEUED, *JOB_ACTIVE]
    rows = Job.objects.filter(own(actor), state__in=states)
    found = dict(rows.order_by().values_list("state").annotate(Count("id")))
    return {state: found.get(state, 0) for state in states}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a waiting job stands in its queue, from 1, and how many wait there."""

    ahead: int
    waiting: int


def position(actor: Actor, job: Job) -> Position | None:
    """None when the job does not wait. Counts only jobs of the same queue, which are its tenant's own."""
    if job.state != JobState.QUEUED or not Job.objects.filter(own(actor), pk=job.pk).exists():
        return None
    waiting = Job.objects.filter(queue_id=job.queue_id, state=JobState.QUEUED)
    ahead = waiting.filter(
        Q(priority__gt=job.priority)
        | Q(priority=job.priority, queued_at__lt=job.queued_at)
        | Q(priority=job.priority, queued_at=job.queued_at, pk__lt=job.pk)
    )
    return Position(ahead.count() + 1, waiting.count())


@dataclass(frozen=True, slots=True)
class Waits:
    """Queue waits and decision times over a period, in seconds and microseconds; None without jobs."""

    wait_p50_s: float | None
    wait_p95_s: float | None
    decision_p50_us: int | None
    decision_p99_us: int | None


def waits(actor: Actor, since: datetime, most: int = 5_000) -> Waits:
    """From placements since then among the latest `most` of all tenants' jobs."""
    rows = _lately(actor, Attempt.objects.all(), most).filter(placed_at__gte=since)
    found = list(
        rows.values_list("placed_at", "job__queued_at", "decision__duration_us", "number", "job__attempt_count")
    )
    # a job that was queued again has a new queued_at: only its latest attempt says how long it waited
    spans = sorted(max(0.0, (placed - queued).total_seconds()) for placed, queued, _, n, last in found if n == last)
    times = sorted(duration for _, _, duration, _, _ in found if duration is not None)
    return Waits(_at(spans, 0.5), _at(spans, 0.95), _at(times, 0.5), _at(times, 0.99))


def release_p99_us(actor: Actor, since: datetime, most: int = 5_000) -> int | None:
    """From the true end of a process to its capacity being free again: 99th percentile, microseconds.

    Of what was freed since then among the latest `most` allocations.
    """
    newest = Allocation.objects.aggregate(newest=Max("pk"))["newest"] or 0
    rows = Allocation.objects.filter(
        own(actor), pk__gt=newest - most, released_at__gte=since, replica__ended_at__isnull=False, device__isnull=False
    )
    found = rows.exclude(replica__state="lost").values_list("released_at", "replica__ended_at")
    spans = sorted((freed - ended) // timedelta(microseconds=1) for freed, ended in found if freed and ended)
    return _at(spans, 0.99)


def active_states() -> list[str]:
    return [JobState(state) for state in JOB_ACTIVE]


def _at(ordered: list[Number], part: float) -> Number | None:
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
