"""Makes decisions durable: many in one transaction, fenced by the scheduler's epoch."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from itertools import chain as joined
from operator import attrgetter
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Model

from console.audit import services as audit
from console.common import bulk, lease, sql
from console.common.actor import system
from console.common.errors import Conflict
from console.common.joint import Joint, joint
from pool.engine.types import Placed, Refused, ScoreParts
from pool.scheduling.facts import Facts
from pool.scheduling.ledger.journal import Journal
from pool.scheduling.limits import Limit
from pool.scheduling.models import (
    Allocation,
    Attempt,
    Decision,
    Interval,
    JobEvent,
    LedgerSegment,
    NodeCommand,
    Replica,
)
from pool.scheduling.services import rows
from pool.scheduling.services.taking import still_queued, take
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
    inputs: dict[str, Any] = field(default_factory=dict)  # ledger/inputs.py
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Committed:
    """What was made durable: the jobs, their allocations, and each touched node's version afterwards."""

    job_ids: frozenset[int]
    allocations: tuple[Allocation, ...]
    versions: dict[int, int]


class Fenced(Conflict):
    """Another scheduler holds the lease: nothing was written, and this one must stop deciding."""

    code = "fenced"


class Placement:
    """Placements of waiting jobs in one transaction; jobs that no longer wait are left out.

    In steps: its rows are made before the transaction, since whoever holds locks must not be thinking; between `send`
    and `finish` the database works and the caller may think, but ask nothing of the database. Both raise
    IntegrityError when the database refuses a double use, `finish` Fenced when the epoch is no longer current: then
    nothing at all was written. Whoever calls wakes the gateways (pool/scheduling/wake.py).
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        facts: Facts,
        lease_name: str,
        epoch: int,
        now: datetime,
        journal: Journal | None = None,
    ) -> None:
        facts.learn(nodes_of(choices))
        self._journal = journal
        self._segment: LedgerSegment | None = None
        self._choices, self._lease, self._epoch = list(choices), lease_name, epoch
        self._made = {choice.job.pk: _rows_of(choice, facts, epoch, now) for choice in choices}
        self._open: Joint | None = None
        self._versions: list[tuple[Any, ...]] = []
        self.done = Committed(frozenset(), (), {})

    def send(self, at_once: bool = True) -> None:
        """All of it, the commit too. `at_once`: waits already, where the caller has nothing else to do meanwhile."""
        rows = [self._made[choice.job.pk] for choice in self._choices]
        if self._journal is not None and self._segment is None:
            self._segment = self._journal.segment()
        told = [self._segment] if self._segment is not None else []
        self._open = None
        try:
            with joint(at_once) as together:
                jobs = [choice.job.pk for choice in self._choices]
                take(together, self._lease, self._epoch, nodes_of(self._choices), jobs)
                entries = [_audit_entry(choice) for choice in self._choices]
                linked = audit.Chain().link(_SCHEDULER, entries, together)
                groups = _groups(rows)
                keys = bulk.Keys(bulk.counts(_pointed_at(groups)), _STOCK)
                bulk.insert(*groups, linked, told, keys=keys, within=together)
            self._open = together
        except sql.Mismatch:
            pass  # `finish` finds out why

    def finish(self) -> None:
        """Waits; then `done` tells. What was refused since some jobs wait no longer is tried again without them."""
        for _ in range(len(self._choices) + 2):
            if self._stored():
                self.done = self._committed()
                if self._journal is not None:
                    self._journal.stored(self._segment)
                return
            self._leave_out()
            if not self._choices:
                return
            self.send()
        raise DatabaseError("a placement was refused, and nothing that explains it can be seen")

    def _stored(self) -> bool:
        if self._open is None:
            return False
        try:
            self._open.wait()
        except sql.Mismatch:
            return False
        self._versions = self._open.rows()
        return True

    def _leave_out(self) -> None:
        if not lease.hold(self._lease, self._epoch).rows():
            raise Fenced("this scheduler lost its lease")
        queued = still_queued([choice.job.pk for choice in self._choices])
        self._choices = [choice for choice in self._choices if choice.job.pk in queued]

    def _committed(self) -> Committed:
        rows = tuple(row for choice in self._choices for row in self._made[choice.job.pk].allocations)
        more = Counter(row.node_id for row in rows)  # each raises the version by one; others are kept out meanwhile
        versions = {node: version + more[node] for node, version in self._versions}
        return Committed(frozenset(choice.job.pk for choice in self._choices), rows, versions)


def _pointed_at(groups: Sequence[Sequence[Model]]) -> list[Sequence[Model]]:
    """Rows that others name by their keys. Only the scheduler adds to these tables."""
    return [group for group in groups if group and type(group[0]) in _STOCKED]


_STOCKED = (Decision, Attempt, Replica, Allocation)
_STOCK = bulk.Stock()


def commit_refusals(choices: Sequence[Choice], epoch: int, now: datetime, journal: Journal | None = None) -> None:
    """Why jobs wait, for their pages. Nothing depends on it."""
    segment = journal.segment() if journal is not None else None
    with transaction.atomic():
        bulk.insert(
            [_decision(choice, epoch, now) for choice in choices],
            [segment] if segment is not None else [],
            keys=bulk.Keys({Decision: len(choices)}, _STOCK),
        )
    if journal is not None:
        journal.stored(segment)


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


def nodes_of(choices: Iterable[Choice]) -> list[int]:
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
        inputs=choice.inputs,
        digest=choice.digest,
    )


def reasons_of(outcome: Placed | Refused | Limit) -> dict[str, Any]:
    """The reasons as JSON: score parts of winner and runner-up and of gangs where they stand, or counts and changes."""
    if isinstance(outcome, Placed):
        told: dict[str, Any] = {
            "score": _score(outcome.score),
            "runner_up": _score(outcome.runner_up) if outcome.runner_up else None,
            "considered": outcome.considered,
        }
        if outcome.neighbourhood is not None:
            told["neighbourhood"] = asdict(outcome.neighbourhood)
        if outcome.preference:
            told["preference"] = [list(pair) for pair in outcome.preference]
        return told
    if isinstance(outcome, Limit):
        return {"limit": asdict(outcome)}
    refused = {
        "failed": [asdict(item) for item in outcome.failed],
        "changes": [asdict(item) for item in outcome.changes],
        "never": outcome.never,
        "role": outcome.role,
    }
    return refused | {"levels": [asdict(item) for item in outcome.levels]} if outcome.levels else refused


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
