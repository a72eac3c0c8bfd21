"""Stopping some so that another can start: the plan, its victims and the place that is held stand or fall together."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from console.audit import services as audit
from console.common import bulk, lease
from console.common.actor import system
from pool.engine.preempt import Plan, Running
from pool.engine.preempt import Victim as Loss
from pool.engine.types import WHOLE
from pool.inventory.services import lock_nodes
from pool.scheduling.ledger.journal import Journal
from pool.scheduling.models import Job, JobState, LedgerPlan, Preemption, Replica, Victim
from pool.scheduling.preemption.pledges import placement_json
from pool.scheduling.services.events import note
from pool.scheduling.services.placement import Fenced
from pool.scheduling.services.stopping import stop_job, stop_replicas
from pool.scheduling.states import REPLICA_FINAL, StopReason
from pool.scheduling.waiting import Waiting

_SCHEDULER = system("scheduler")


@dataclass(frozen=True, slots=True)
class Room:
    """A plan and what it was made on. `shares` as Preemption.shares; `running`: the victims as the engine knew them."""

    job: Waiting
    plan: Plan
    running: Mapping[int, Running]
    shares: dict[str, dict[str, int]]
    snapshot: str
    duration_us: int
    lent: bool = False  # they run on cards that are reserved for the job


class _Changed(Exception):
    """What the plan was made on is no longer so."""


def make_room(
    room: Room, lease_name: str, epoch: int, now: datetime, journal: Journal, told: LedgerPlan
) -> Preemption | None:
    """Tells the victims to end and stores for whom, and (`told`) what it was planned on. None where the job no longer
    waits or a victim no longer runs as it did: then nothing was changed. Raises Fenced when the epoch is no longer
    current."""
    segment = journal.segment()
    try:
        with transaction.atomic():
            if not lease.hold(lease_name, epoch).rows():
                raise Fenced("this scheduler lost its lease")
            row = _make(room, epoch, now)
            told.preemption = row
            told.save(force_insert=True)
            if segment is not None:
                bulk.insert([segment])
    except (_Changed, IntegrityError):
        return None
    journal.stored(segment)
    return row


def close_preemption(pk: int, state: str, dropped: str, now: datetime) -> bool:
    """Open -> started or dropped, once; the place is no longer held. False: it was closed before."""
    with transaction.atomic():
        row = Preemption.objects.filter(pk=pk).select_related("job").first()
        moved = Preemption.objects.filter(pk=pk, state=Preemption.State.OPEN).update(
            state=state, dropped=dropped, ended_at=now
        )
        if row is None or not moved:
            return False
        if dropped:
            note(row.job_id, now, "room_dropped", _SCHEDULER.label, preemption=row.public_id, why=dropped)
            after = {"preemption": row.public_id, "dropped": dropped}
            audit.record(_SCHEDULER, "job.room_dropped", row.job, tenant_id=row.job.tenant_id, after=after)
    return True


def _make(room: Room, epoch: int, now: datetime) -> Preemption:
    jobs = {job.pk: job for job in Job.objects.filter(pk__in=room.running)}
    live = Replica.objects.filter(job__in=jobs).exclude(state__in=REPLICA_FINAL).select_related("role", "attempt")
    replicas: dict[int, list[Replica]] = {}
    for replica in live.order_by("job_id", "rank"):
        replicas.setdefault(replica.job_id, []).append(replica)
    # all nodes first and in one order: stopping each job would lock those of one after those of another
    lock_nodes(replica.node_id for rows in replicas.values() for replica in rows)
    asker = Job.objects.filter(pk=room.job.pk, state=JobState.QUEUED)
    if not asker.update(state=JobState.QUEUED):
        raise _Changed
    row = _row(room, epoch, now)
    entries = []
    for loss in room.plan.victims:
        job = jobs.get(loss.job_key)
        if job is None:
            raise _Changed
        going = _going(loss, room.running[loss.job_key], replicas.get(job.pk, []))
        _victim(row, room, loss, job, going, now)
        _stop(job, loss, going, now)
        after = {"preemption": row.public_id, "replicas": len(going)}
        entries.append(audit.Entry("job.preempt", "job", job.public_id, job.tenant_id, {"state": "running"}, after))
        facts = {"because": _because(room, loss), "whole": loss.whole, "replicas": len(going)}
        note(job.pk, now, "preempted", _SCHEDULER.label, preemption=row.public_id, **facts)
    after = {"preemption": row.public_id}
    entries.append(audit.Entry("job.make_room", "job", room.job.public_id, room.job.tenant_id, None, after))
    note(room.job.pk, now, "making_room", _SCHEDULER.label, preemption=row.public_id, why=row.why)
    audit.record_many(_SCHEDULER, entries)
    return Preemption.objects.prefetch_related("victims").get(pk=row.pk)


def _row(room: Room, epoch: int, now: datetime) -> Preemption:
    own = all(loss.because == "lower_priority" for loss in room.plan.victims)
    why = Preemption.Why.PRIORITY if own else Preemption.Why.RECLAIM
    return Preemption.objects.create(
        job_id=room.job.pk,
        queue_id=room.job.queue_id,
        why=Preemption.Why.RESERVED if room.lent else why,
        placement=placement_json(room.plan.placed),
        shares=room.shares,
        cost_s=room.plan.cost // WHOLE,
        snapshot=room.snapshot,
        epoch=epoch,
        duration_us=room.duration_us,
        created_at=now,
    )


def _because(room: Room, loss: Loss) -> str:
    return Victim.Because.LENT if room.lent else loss.because


def _going(loss: Loss, running: Running, live: list[Replica]) -> list[Replica]:
    """The replicas that go. What runs must be what the plan was made on, neither more nor less."""
    known = {(replica.role, replica.rank) for replica in running.replicas}
    if {(replica.role.name, replica.rank) for replica in live if replica.state != "stopping"} != known:
        raise _Changed
    gone = set(loss.replicas)
    return [replica for replica in live if (replica.role.name, replica.rank) in gone]


def _victim(row: Preemption, room: Room, loss: Loss, job: Job, going: list[Replica], now: datetime) -> None:
    saved = room.running[loss.job_key].checkpoint_s
    Victim.objects.create(
        preemption=row,
        job=job,
        queue_id=job.queue_id,
        attempt=job.attempt_count,
        whole=loss.whole,
        replicas=[replica.pk for replica in going],
        cost_s=loss.cost // WHOLE,
        checkpoint_age_s=None if saved is None else max(0, int(now.timestamp()) - saved),
        because=_because(room, loss),
        out_of_turn=loss.out_of_turn,
        at=now,
    )


def _stop(job: Job, loss: Loss, going: list[Replica], now: datetime) -> None:
    if loss.whole:
        if not stop_job(job, StopReason.PREEMPT, now):
            raise _Changed
        return
    if not Job.objects.filter(pk=job.pk, state__in=[JobState.STARTING, JobState.RUNNING]).exists():
        raise _Changed
    stop_replicas(job, going, StopReason.PREEMPT, now)
