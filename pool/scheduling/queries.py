"""Every read that a page or the API needs, scoped by the acting user."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from console.common.actor import Actor
from console.common.errors import NotFound
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
from pool.scheduling.states import JOB_ACTIVE, JOB_FINAL

Number = TypeVar("Number", int, float)


def own(actor: Actor, tenant: str = "tenant") -> Q:
    """The filter that scopes rows with a tenant to what the actor may see."""
    if actor.sees_all_work:
        return Q()
    return Q(**{f"{tenant}_id__in": list(actor.tenants)})


def jobs_for(actor: Actor) -> QuerySet[Job]:
    """Newest first; tenant, project and queue are loaded."""
    return Job.objects.filter(own(actor)).select_related("tenant", "project", "queue", "submitted_by").order_by("-id")


def job_for(actor: Actor, public_id: str) -> Job:
    """Raises NotFound, also for another tenant's job: the two cannot be told apart."""
    job = jobs_for(actor).filter(public_id=public_id).first()
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


def recent_events(actor: Actor, limit: int | None = 20) -> QuerySet[JobEvent]:
    """What happened lately in all jobs that the actor may see; `limit` None: to be filtered further."""
    rows = JobEvent.objects.filter(own(actor, "job__tenant")).select_related("job__tenant").order_by("-id")
    return rows if limit is None else rows[:limit]


def counts(actor: Actor) -> dict[str, int]:
    """Jobs by state; states without jobs are there with 0."""
    found = dict(Job.objects.filter(own(actor)).order_by().values_list("state").annotate(Count("id")))
    return {state: found.get(state, 0) for state in JobState.values}


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
    """From placement decisions since then (the latest `most` of them)."""
    rows = Attempt.objects.filter(own(actor, "job__tenant"), placed_at__gte=since).order_by("-id")
    found = list(
        rows.values_list("placed_at", "job__queued_at", "decision__duration_us", "number", "job__attempt_count")[:most]
    )
    # a job that was queued again has a new queued_at: only its latest attempt says how long it waited
    spans = sorted(max(0.0, (placed - queued).total_seconds()) for placed, queued, _, n, last in found if n == last)
    times = sorted(duration for _, _, duration, _, _ in found if duration is not None)
    return Waits(_at(spans, 0.5), _at(spans, 0.95), _at(times, 0.5), _at(times, 0.99))


def release_p99_us(actor: Actor, since: datetime, most: int = 5_000) -> int | None:
    """From the true end of a process to its capacity being free again: 99th percentile, microseconds."""
    rows = Allocation.objects.filter(
        own(actor), released_at__gte=since, replica__ended_at__isnull=False, device__isnull=False
    ).order_by("-released_at")
    found = rows.exclude(replica__state="lost").values_list("released_at", "replica__ended_at")[:most]
    spans = sorted((freed - ended) // timedelta(microseconds=1) for freed, ended in found if freed and ended)
    return _at(spans, 0.99)


def finished_states() -> list[str]:
    return [JobState(state) for state in JOB_FINAL]


def active_states() -> list[str]:
    return [JobState(state) for state in JOB_ACTIVE]


def _at(ordered: list[Number], part: float) -> Number | None:
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
