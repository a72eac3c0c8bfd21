"""Makes decisions durable: many in one transaction, fenced by the scheduler's epoch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from console.audit import services as audit
from console.common import lease
from console.common.actor import system
from console.common.errors import Conflict
from pool.engine.types import Placed, Refused
from pool.inventory.models import Device, Node
from pool.scheduling import wake
from pool.scheduling.limits import Limit
from pool.scheduling.models import (
    Allocation,
    Attempt,
    Decision,
    Interval,
    Job,
    JobEvent,
    JobRole,
    NodeCommand,
    Replica,
)
from pool.scheduling.services import rows

_SCHEDULER = system("scheduler")


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision on a waiting job. `job.tenant` and `roles` are loaded."""

    job: Job
    roles: tuple[JobRole, ...]
    outcome: Placed | Refused | Limit
    snapshot: str
    duration_us: int


@dataclass(frozen=True, slots=True)
class Committed:
    """What was made durable: the jobs, their allocations, and each touched node's version afterwards."""

    job_ids: frozenset[int]
    allocations: tuple[Allocation, ...]
    versions: dict[int, int]


class Fenced(Conflict):
    """Another scheduler holds the lease: nothing was written, and this one must stop deciding."""

    code = "fenced"


def commit_placements(choices: Sequence[Choice], lease_name: str, epoch: int, now: datetime) -> Committed:
    """All placements of `choices` in one transaction; jobs that are no longer waiting are left out.

    Raises Fenced when the epoch is no longer current, and IntegrityError when the database refuses a double use:
    then nothing at all was written.
    """
    with transaction.atomic():
        if not lease.hold(lease_name, epoch):
            raise Fenced("this scheduler lost its lease")
        started = _start_jobs([choice.job.pk for choice in choices])
        kept = [choice for choice in choices if choice.job.pk in started]
        if not kept:
            return Committed(frozenset(), (), {})
        replicas, allocations = _store(kept, epoch, now)
        nodes = sorted({replica.node_id for replica in replicas})
        wake.gateways(nodes)
        versions = dict(Node.objects.filter(pk__in=nodes).values_list("pk", "version"))
    return Committed(frozenset(started), tuple(allocations), versions)


def commit_refusals(choices: Sequence[Choice], epoch: int, now: datetime) -> None:
    """Why jobs wait, for their pages. Nothing depends on it."""
    with transaction.atomic():
        Decision.objects.bulk_create([_decision(choice, epoch, now) for choice in choices])


def _start_jobs(job_ids: list[int]) -> set[int]:
    """Queued -> starting, by conditional UPDATE; the jobs that did."""
    table = Job._meta.db_table
    marks = ", ".join(["%s"] * len(job_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET state = 'starting', attempt_count = attempt_count + 1"  # noqa: S608 own table name
            f" WHERE state = 'queued' AND id IN ({marks}) RETURNING id",
            job_ids,
        )
        return {row[0] for row in cursor.fetchall()}


def _store(kept: list[Choice], epoch: int, now: datetime) -> tuple[list[Replica], list[Allocation]]:
    decisions = Decision.objects.bulk_create([_decision(choice, epoch, now) for choice in kept])
    attempts = Attempt.objects.bulk_create(
        [
            Attempt(job=choice.job, number=choice.job.attempt_count + 1, decision=decision, epoch=epoch, placed_at=now)
            for choice, decision in zip(kept, decisions, strict=True)
        ]
    )
    devices = _devices(kept)
    nodes = Node.objects.in_bulk({part.node_key for choice in kept for part in _placed(choice).replicas})
    made = [
        rows.replica_rows(choice.job, choice.roles, attempt, _placed(choice), now)
        for choice, attempt in zip(kept, attempts, strict=True)
    ]
    replicas = Replica.objects.bulk_create([replica for group in made for replica, _ in group])
    pairs = [pair for group in made for pair in group]
    allocations = Allocation.objects.bulk_create(
        [row for replica, part in pairs for row in rows.allocation_rows(replica, part, epoch, now)]
    )
    Interval.objects.bulk_create(
        [rows.interval_row(row, devices[row.device_id], nodes[row.node_id]) for row in allocations if row.device_id]
    )
    NodeCommand.objects.bulk_create(
        [command for group in made for command in rows.start_commands(group, devices, nodes, epoch, now)]
    )
    JobEvent.objects.bulk_create([_placed_event(choice, now) for choice in kept])
    audit.record_many(_SCHEDULER, [_audit_entry(choice) for choice in kept])
    return replicas, allocations


def _devices(kept: list[Choice]) -> dict[int, Device]:
    keys = {device.device_key for choice in kept for replica in _placed(choice).replicas for device in replica.devices}
    return {device.pk: device for device in Device.objects.filter(pk__in=keys).select_related("model")}


def _placed(choice: Choice) -> Placed:
    if not isinstance(choice.outcome, Placed):
        raise TypeError(f"job {choice.job.pk} was refused, not placed")
    return choice.outcome


def _decision(choice: Choice, epoch: int, now: datetime) -> Decision:
    return Decision(
        job=choice.job,
        at=now,
        placed=isinstance(choice.outcome, Placed),
        snapshot=choice.snapshot,
        epoch=epoch,
        duration_us=choice.duration_us,
        reasons=reasons_of(choice.outcome),
    )


def reasons_of(outcome: Placed | Refused | Limit) -> dict[str, Any]:
    """The reasons as JSON: score parts of winner and runner-up, or filter counts and changes."""
    if isinstance(outcome, Placed):
        return {
            "score": asdict(outcome.score),
            "runner_up": asdict(outcome.runner_up) if outcome.runner_up else None,
            "considered": outcome.considered,
        }
    if isinstance(outcome, Limit):
        return {"limit": asdict(outcome)}
    return {
        "failed": [asdict(item) for item in outcome.failed],
        "changes": [asdict(item) for item in outcome.changes],
        "never": outcome.never,
        "role": outcome.role,
    }


def _placed_event(choice: Choice, now: datetime) -> JobEvent:
    replicas = _placed(choice).replicas
    return JobEvent(
        job=choice.job,
        at=now,
        kind="placed",
        params={"replicas": len(replicas), "nodes": len({replica.node_key for replica in replicas})},
        actor_label=_SCHEDULER.label,
    )


def _audit_entry(choice: Choice) -> audit.Entry:
    return audit.Entry(
        "job.place",
        "job",
        choice.job.public_id,
        choice.job.tenant_id,
        {"state": "queued"},
        {"state": "starting", "replicas": len(_placed(choice).replicas)},
    )
