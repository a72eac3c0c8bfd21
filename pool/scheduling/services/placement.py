"""Makes decisions durable: many in one transaction, fenced by the scheduler's epoch."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from itertools import chain as joined
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.db.models import Model

from console.audit import services as audit
from console.audit.models import AuditEntry
from console.common import bulk, lease, sql
from console.common.actor import system
from console.common.errors import Conflict
from pool.engine.types import Placed, Refused, ScoreParts
from pool.inventory.services import lock_nodes
from pool.scheduling import wake
from pool.scheduling.facts import Facts
from pool.scheduling.limits import Limit
from pool.scheduling.models import Allocation, Attempt, Decision, Interval, JobEvent, NodeCommand, Replica
from pool.scheduling.services import rows
from pool.scheduling.waiting import Waiting

_SCORE_FIELDS = tuple(field.name for field in fields(ScoreParts))
_SCHEDULER = system("scheduler")


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision on a waiting job, or the limit that kept it from being tried."""

    job: Waiting
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


def commit_placements(choices: Sequence[Choice], facts: Facts, lease_name: str, epoch: int, now: datetime) -> Committed:
    """All placements of `choices` in one transaction; jobs that are no longer waiting are left out.

    Raises Fenced when the epoch is no longer current, and IntegrityError when the database refuses a double use:
    then nothing at all was written.
    """
    facts.learn(part.node_key for choice in choices for part in _placed(choice).replicas)
    made = {choice.job.pk: _rows_of(choice, facts, epoch, now) for choice in choices}
    with transaction.atomic():
        with sql.together():
            fence = lease.hold(lease_name, epoch)
            lock_nodes(_nodes(choices))
            queued, ids = sql.among("id", made)
            started = sql.ask(_START.format(queued=queued), *ids)
            keys, chain = bulk.Keys({**bulk.counts(_groups(made.values())), AuditEntry: len(made)}), audit.Chain()
            if not fence.rows():
                raise Fenced("this scheduler lost its lease")
            kept_ids = {pk for (pk,) in started.rows()}
            kept = [choice for choice in choices if choice.job.pk in kept_ids]
            if not kept:
                return Committed(frozenset(), (), {})
            entries = chain.link(_SCHEDULER, [_audit_entry(choice) for choice in kept])
            bulk.insert(*_groups([made[choice.job.pk] for choice in kept]), entries, keys=keys)
            nodes = _nodes(kept)
            touched, ids = sql.among("id", nodes)
            versions = sql.ask(f"SELECT id, version FROM inventory_node WHERE {touched}", *ids)
        chain.check()
        wake.gateways(nodes)
    allocations = tuple(row for choice in kept for row in made[choice.job.pk].allocations)
    return Committed(frozenset(kept_ids), allocations, dict(versions.rows()))


# queued -> starting, by conditional UPDATE; gives the jobs that did
_START = (
    "UPDATE scheduling_job SET state = 'starting', attempt_count = attempt_count + 1"
    " WHERE state = 'queued' AND {queued} RETURNING id"
)


def commit_refusals(choices: Sequence[Choice], epoch: int, now: datetime) -> None:
    """Why jobs wait, for their pages. Nothing depends on it."""
    with transaction.atomic():
        bulk.insert([_decision(choice, epoch, now) for choice in choices])


@dataclass(frozen=True, slots=True)
class _Rows:
    """What one placement stores, unsaved. The fields stand in the order in which they may point at each other."""

    decisions: list[Decision]
    attempts: list[Attempt]
    replicas: list[Replica]
    allocations: list[Allocation]
    intervals: list[Interval]
    commands: list[NodeCommand]
    events: list[JobEvent]


def _rows_of(choice: Choice, facts: Facts, epoch: int, now: datetime) -> _Rows:
    """Made before the transaction: whoever holds locks must not be thinking."""
    job = choice.job
    decision = _decision(choice, epoch, now)
    attempt = bulk.new(
        Attempt, job_id=job.pk, number=job.attempt_count + 1, decision=decision, epoch=epoch, placed_at=now
    )
    pairs = rows.replica_rows(job, attempt, _placed(choice), now)
    held = [row for pair in pairs for row in rows.allocation_rows(job, pair, epoch, now)]
    return _Rows(
        [decision],
        [attempt],
        [replica for replica, _ in pairs],
        held,
        [rows.interval_row(job, row, facts) for row in held if row.device_id],
        list(rows.start_commands(job, pairs, facts, epoch, now)),
        [_placed_event(choice, now)],
    )


def _groups(made: Iterable[_Rows]) -> list[list[Model]]:
    """One group a model, over all placements."""
    return [list(joined.from_iterable(lists)) for lists in zip(*map(_FIELDS, made), strict=True)]


_FIELDS = attrgetter(*(field.name for field in fields(_Rows)))


def _nodes(choices: Iterable[Choice]) -> list[int]:
    return sorted({part.node_key for choice in choices for part in _placed(choice).replicas})


def _placed(choice: Choice) -> Placed:
    if not isinstance(choice.outcome, Placed):
        raise TypeError(f"job {choice.job.pk} was refused, not placed")
    return choice.outcome


def _decision(choice: Choice, epoch: int, now: datetime) -> Decision:
    return bulk.new(
        Decision,
        job_id=choice.job.pk,
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
            "score": _score(outcome.score),
            "runner_up": _score(outcome.runner_up) if outcome.runner_up else None,
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


def _score(parts: ScoreParts) -> dict[str, Any]:
    return {name: getattr(parts, name) for name in _SCORE_FIELDS}


def _placed_event(choice: Choice, now: datetime) -> JobEvent:
    replicas = _placed(choice).replicas
    return bulk.new(
        JobEvent,
        job_id=choice.job.pk,
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
