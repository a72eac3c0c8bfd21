"""What a measure and a plan are made on: a fleet of its own, read from the database, beside the scheduler's."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from pool.engine.defrag import Work
from pool.engine.mix import SCALE
from pool.engine.moves import Movable
from pool.engine.types import WHOLE, Hold, JobRequest, ReplicaRequest
from pool.scheduling import ports
from pool.scheduling.calendar.windows import kept
from pool.scheduling.defrag.queries import RuleSet
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.mix import observed_mix
from pool.scheduling.models import Decision, Queue, Window
from pool.scheduling.preemption.pledges import open_pledges
from pool.scheduling.states import REPLICA_FINAL
from pool.scheduling.waiting import Waiting, WaitingList, requests_of

LOOKED_AT = 500  # waiting jobs that count
CLASSES = 48  # of waiting work: the most wanted
ADMITTED = 8  # waiting jobs that moves are sought for
ENDS_SOON = timedelta(minutes=15)
_FINAL = tuple(str(state) for state in REPLICA_FINAL)


@dataclass(frozen=True, slots=True)
class Scene:
    """`works`: classes that fragmentation is measured by."""

    mirror: FleetMirror
    works: list[Work]
    waiting: list[Waiting]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that may move. `since`: when its state was last saved, else when it started."""

    movable: Movable
    queue: int
    replica: int
    attempt: int
    checkpoint_age_s: int | None


def scene(now: datetime) -> Scene:
    mirror = FleetMirror(observed_mix())
    mirror.sync()
    for pledge in open_pledges():
        mirror.pledge(pledge.job_id, pledge.holds)
    for row in Window.objects.filter(state=Window.State.OPEN).select_related("reservation"):
        window = kept(row, mirror)
        mirror.pledge(window.key, window.holds)
    waiting = _waiting(now)
    return Scene(mirror, [*_typical(mirror), *_wanted(waiting)], waiting)


def _typical(mirror: FleetMirror) -> list[Work]:
    return [Work(request, weight) for request, weight in mirror.fleet.mix.classes if request.devices]


def _wanted(waiting: Iterable[Waiting]) -> list[Work]:
    """Together they weigh as much as all that is typical."""
    counts: Counter[tuple[ReplicaRequest, str, str]] = Counter()
    for item in waiting:
        asked = item.request
        for role in asked.roles:
            if role.request.devices:
                counts[role.request, asked.tenant, asked.trust_group] += role.replicas
    most = counts.most_common(CLASSES)
    total = sum(count for _, count in most)
    return [Work(request, SCALE * count // total, count, tenant, trust) for (request, tenant, trust), count in most]


def _waiting(now: datetime) -> list[Waiting]:
    first = sql.fetch(
        "SELECT id FROM scheduling_job WHERE state = 'queued' ORDER BY priority DESC, queued_at, id LIMIT %s", LOOKED_AT
    )
    found = WaitingList(lambda: now)
    found.load(pk for (pk,) in first)
    return [item for item in found if (queue := found.queues.get(item.queue_id)) and queue.state != Queue.State.HELD]


def held_back_by_room(waiting: Iterable[Waiting]) -> list[JobRequest]:
    """The first of those that wait for want of a place: no limit, and no plan of the scheduler's, keeps them."""
    first = list(waiting)[: 4 * ADMITTED]
    newest: dict[int, dict[str, Any]] = {}
    for job, reasons in (
        Decision.objects.filter(job__in=[item.pk for item in first]).order_by("pk").values_list("job_id", "reasons")
    ):
        newest[job] = reasons
    pledged = {pledge.job_id for pledge in open_pledges()}
    able = [item for item in first if item.pk not in pledged and newest.get(item.pk, {}).get("failed")]
    return [item.request for item in able[:ADMITTED]]


def candidates(mirror: FleetMirror, rules: RuleSet, now: datetime) -> list[Candidate]:
    """Jobs of one replica that may be preempted, run long enough, and were left alone for as long as the rules say."""
    held: dict[int, list[Hold]] = {}
    for rows in mirror.held.values():
        for row in rows.values():
            held.setdefault(row.replica_id, []).append(row.hold)
    running = sql.fetch(_MOVABLE.format(final=sql.marks(_FINAL)), *_FINAL)
    recent = _recent(now - timedelta(seconds=rules.job_rest_s))
    able = [row for row in running if row[0] not in recent and row[2] in held and _may_move(row, now)]
    asked = requests_of(row[0] for row in able)
    saved = ports.checkpoints([row[0] for row in able])
    found = []
    for job, queue, replica, attempt, started, *_ in able:
        request = asked.get(job)
        if request is None or len(request.roles) != 1 or request.roles[0].replicas != 1:
            continue
        cost, age = _cost(held[replica], saved.get(job), read_datetime(started), now)
        found.append(Candidate(Movable(request, tuple(held[replica]), cost), queue, replica, attempt, age))
    return found


def _cost(
    holds: list[Hold], saved: ports.Checkpoint | None, started: datetime, now: datetime
) -> tuple[int, int | None]:
    """GPU-seconds that are lost, and the age of the checkpoint."""
    age = max(0, int((now - saved.at).total_seconds())) if saved else None
    lost = age if age is not None else max(0, int((now - started).total_seconds()))
    share = sum(hold.share_bp for hold in holds)
    return max(1, share * (lost + (saved.restart_s if saved else 0)) // WHOLE), age


def _may_move(row: tuple[Any, ...], now: datetime) -> bool:
    _, _, _, _, started, spared, deadline = row
    least = read_duration(spared)
    if least is not None and read_datetime(started) + least > now:
        return False
    return deadline is None or read_datetime(deadline) > now + ENDS_SOON


def _recent(since: datetime) -> set[int]:
    moved = sql.fetch("SELECT job_id FROM scheduling_defragmove WHERE started_at >= %s", since)
    preempted = sql.fetch("SELECT job_id FROM scheduling_victim WHERE at >= %s", since)
    return {job for (job,) in (*moved, *preempted)}


_MOVABLE = (
    "SELECT j.id, j.queue_id, r.id, a.number, r.started_at, j.preempt_min_runtime, j.deadline_at"
    " FROM scheduling_job j JOIN scheduling_attempt a ON a.job_id = j.id AND a.number = j.attempt_count"
    " JOIN scheduling_replica r ON r.attempt_id = a.id"
    " WHERE j.state = 'running' AND j.preemptible AND r.state = 'running'"
    " AND NOT EXISTS (SELECT 1 FROM scheduling_replica o WHERE o.attempt_id = a.id AND o.id <> r.id"
    " AND o.state NOT IN ({final})) ORDER BY j.id"
)
