"""Reads that only the pages need: a fixed number of queries, however many rows there are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Min, QuerySet

from console.common.actor import Actor
from pool.inventory.models import DeviceModel, Link
from pool.scheduling import queries
from pool.scheduling.models import Allocation, Decision, Job, JobRole, JobState, Replica
from pool.scheduling.pages import asking, reasons, words
from pool.scheduling.states import JOB_FINAL


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
    if job.state == JobState.QUEUED:
        return now - job.queued_at
    start = job.started_at or job.queued_at
    return (job.finished_at or now) - start


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


@dataclass(frozen=True, slots=True)
class Part:
    """A slice that a replica holds, or held."""

    allocation: Allocation
    linked: str


@dataclass(frozen=True, slots=True)
class Member:
    """A replica with its slices."""

    replica: Replica
    parts: list[Part]


def members(actor: Actor, replicas: Sequence[Replica]) -> list[Member]:
    """Two queries: slices, and links between the devices of each replica."""
    ids = [replica.pk for replica in replicas]
    held = queries.allocations_for(actor).filter(replica__in=ids, device__isnull=False)
    slices: dict[int, list[Allocation]] = {}
    for allocation in held.order_by("replica_id", "device__index", "mig_start"):
        slices.setdefault(allocation.replica_id, []).append(allocation)
    links = _links({a.device_id for group in slices.values() for a in group if a.device_id})
    return [
        Member(replica, [Part(a, _linked(a, slices[replica.pk], links)) for a in slices.get(replica.pk, [])])
        for replica in replicas
    ]


def _links(device_ids: set[int]) -> dict[tuple[int, int], Link]:
    if len(device_ids) < 2:
        return {}
    rows = Link.objects.filter(a_id__in=device_ids, b_id__in=device_ids)
    return {(link.a_id, link.b_id): link for link in rows}


def _linked(own: Allocation, group: list[Allocation], links: dict[tuple[int, int], Link]) -> str:
    """How this device reaches the others of its replica: "NVLink 0, 1, 3"."""
    others: dict[str, list[int]] = {}
    for other in group:
        if other.device is None or own.device is None or other.device_id == own.device_id:
            continue
        pair = (min(own.device.pk, other.device.pk), max(own.device.pk, other.device.pk))
        link = links.get(pair)
        kind = link.kind if link else _island(own, other)
        if kind:
            others.setdefault(kind, []).append(other.device.index)
    names = {"nvlink": "NVLink", "pcie": "PCIe"}
    return "; ".join(
        f"{names.get(kind, kind)} {', '.join(str(index) for index in sorted(set(found)))}"
        for kind, found in sorted(others.items())
    )


def _island(own: Allocation, other: Allocation) -> str:
    if own.device is None or other.device is None:
        return ""
    same = own.device.nvlink_island >= 0 and own.device.nvlink_island == other.device.nvlink_island
    return "nvlink" if same else ""


def replicas_of_attempt(actor: Actor, job: Job, number: int) -> QuerySet[Replica]:
    return queries.replicas_for(actor).filter(job=job, attempt__number=number)


def timeline(actor: Actor, job: Job, most: int = 100) -> list[words.Line]:
    """Newest first."""
    events = queries.timeline(actor, job).order_by("-id")[:most]
    return [words.line_of(event) for event in events]


def offered_models() -> QuerySet[DeviceModel]:
    """Models that some device has: what a form offers. Which models there are is no secret of a tenant."""
    return DeviceModel.objects.filter(devices__isnull=False).distinct().order_by("name")


def is_final(job: Job) -> bool:
    return job.state in JOB_FINAL
