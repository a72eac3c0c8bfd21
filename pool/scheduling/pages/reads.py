"""Reads that only the pages need: a fixed number of queries, however many rows there are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Min, QuerySet
from django.urls import reverse

from console.common.actor import Actor
from pool.inventory.models import DeviceModel
from pool.scheduling import queries
from pool.scheduling.models import Decision, Job, JobRole, JobState, Replica
from pool.scheduling.pages import asking, reasons, words
from pool.scheduling.states import JOB_FINAL
from pool.scheduling.telling import reasons_for


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the job list. `where` holds (nodes, first node) of the present attempt."""

    job: Job
    asks: str
    nodes: int
    first_node: str
    waits_for: str
    span: timedelta


def rows_of(jobs: Sequence[Job], now: datetime) -> list[Row]:
    """Three queries: roles, places, and the last refusals of those that wait."""
    ids = [job.pk for job in jobs]
    roles = roles_of(ids)
    places = _places(ids)
    waits = _waits([job.pk for job in jobs if job.state == JobState.QUEUED])
    return [
        Row(
            job=job,
            asks=asking.of_job(roles.get(job.pk, [])),
            nodes=places.get(job.pk, (0, ""))[0],
            first_node=places.get(job.pk, (0, ""))[1],
            waits_for=waits.get(job.pk, ""),
            span=span_of(job, now),
        )
        for job in jobs
    ]


def span_of(job: Job, now: datetime) -> timedelta:
    """How long it waits, runs, or ran."""
    return (job.finished_at or now) - span_start(job)


def span_start(job: Job) -> datetime:
    waits = job.state == JobState.QUEUED or job.started_at is None
    return job.queued_at if waits or job.started_at is None else job.started_at


def roles_of(job_ids: Iterable[int]) -> dict[int, list[JobRole]]:
    found: dict[int, list[JobRole]] = {}
    for role in JobRole.objects.filter(job_id__in=list(job_ids)).order_by("job_id", "position"):
        found.setdefault(role.job_id, []).append(role)
    return found


def _places(job_ids: list[int]) -> dict[int, tuple[int, str]]:
    newest = Replica.objects.filter(job_id__in=job_ids, attempt__number=F("job__attempt_count"))
    grouped = newest.values("job_id").order_by().annotate(nodes=Count("node", distinct=True), first=Min("node__name"))
    return {row["job_id"]: (row["nodes"], row["first"]) for row in grouped}


def _waits(job_ids: list[int]) -> dict[int, str]:
    """The last refusal of each in a few words."""
    newest = Decision.objects.filter(job_id__in=job_ids).values("job_id").order_by().annotate(last=Max("id"))
    decisions = Decision.objects.filter(pk__in=newest.values("last"), placed=False)
    return {decision.job_id: _short(decision.reasons) for decision in decisions}


def _short(reason: dict[str, Any]) -> str:
    if "limit" in reason:
        return reasons.limit_text(reason["limit"])
    failed = reason.get("failed") or []
    if not failed:
        return ""
    most = max(failed, key=lambda item: (item["devices"], item["nodes"]))
    return str(reasons.FILTERS.get(most["filter"], most["filter"]))


def replicas_of_attempt(actor: Actor, job: Job, number: int) -> QuerySet[Replica]:
    return queries.replicas_for(actor).filter(job=job, attempt__number=number)


def timeline(actor: Actor, job: Job, most: int = 100) -> list[words.Line]:
    """Newest first; what was placed, and each time it was found to have to wait, with a link to the decision."""
    events = queries.timeline(actor, job).order_by("-id")[:most]
    decisions = list(queries.decisions_for(actor, job)[:most])
    placed = {decision.at: _link(decision) for decision in decisions if decision.placed}
    lines = [
        replace(words.line_of(event), href=placed.get(event.at, "") if event.kind == "placed" else "")
        for event in events
    ]
    waits = _waits_of(actor, [decision for decision in decisions if not decision.placed])
    # stable: of one moment, what happened goes before what was thought of it
    return sorted([*lines, *waits], key=lambda line: line.at, reverse=True)[:most]


def _waits_of(actor: Actor, refusals: list[Decision]) -> list[words.Line]:
    """Newest first. Of those that tell the reader the same, the first: that others came and went is not for it to
    know."""
    found: list[words.Line] = []
    for decision in refusals:
        text = reasons.explain(reasons_for(actor, decision.reasons)).summary
        if found and found[-1].text == text:
            found.pop()
        found.append(words.Line(decision.at, "quiet", "hourglass", text, "", _link(decision)))
    return found


def _link(decision: Decision) -> str:
    return reverse("scheduling:decision_detail", args=[decision.public_id])


def offered_models() -> QuerySet[DeviceModel]:
    """Models that some device has: what a form offers. Which models there are is no secret of a tenant."""
    return DeviceModel.objects.filter(devices__isnull=False).distinct().order_by("name")


def is_final(job: Job) -> bool:
    return job.state in JOB_FINAL
