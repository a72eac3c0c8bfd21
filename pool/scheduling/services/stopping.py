"""Stopping an attempt: every replica is told to end, and what it holds is freed as each one ends."""

from datetime import datetime
from typing import Any

from django.db import transaction

from console.audit import services as audit
from console.common.actor import Actor, system
from pool.inventory.services import lock_nodes
from pool.scheduling import wake
from pool.scheduling.models import Job, JobState, NodeCommand, Replica, ReplicaState
from pool.scheduling.services.commands import new_command, withdraw_start
from pool.scheduling.services.events import note
from pool.scheduling.services.release import Member, end_replicas
from pool.scheduling.states import REPLICA_FINAL, StopReason

GRACE_S = 10
# planned, and the job goes on elsewhere or later: what it has saved by then is not lost
PLANNED = frozenset({StopReason.PREEMPT, StopReason.REQUEUE, StopReason.MOVE})


def stop_job(job: Job, reason: StopReason, now: datetime) -> bool:
    """Starting or running -> stopping, with a stop command for each live replica. False: it was not active.

    Call inside a transaction, with its actor's audit entry.
    """
    lock_nodes(replica.node_id for replica in live_replicas(job))
    moved = Job.objects.filter(pk=job.pk, state__in=[JobState.STARTING, JobState.RUNNING]).update(
        state=JobState.STOPPING, stop_reason=reason
    )
    if not moved:
        return False
    job.state, job.stop_reason = JobState.STOPPING, reason
    stop_replicas(job, live_replicas(job), reason, now)
    return True


def live_replicas(job: Job) -> list[Replica]:
    return list(Replica.objects.filter(job=job).exclude(state__in=REPLICA_FINAL).order_by("rank"))


def stop_replicas(job: Job, replicas: list[Replica], reason: StopReason, now: datetime) -> None:
    """Tells these replicas to end; one whose start nobody has picked up ends at once."""
    withdrawn = [r for r in replicas if r.state == ReplicaState.ASSIGNED and withdraw_start(r)]
    told = [r for r in replicas if r not in withdrawn]
    Replica.objects.filter(pk__in=[r.pk for r in told]).exclude(state__in=REPLICA_FINAL).update(
        state=ReplicaState.STOPPING
    )
    known = set(
        NodeCommand.objects.filter(replica__in=told, kind=NodeCommand.Kind.STOP).values_list("replica_id", flat=True)
    )
    saving = _saving(job) if reason in PLANNED else {}
    NodeCommand.objects.bulk_create(
        [
            new_command(
                replica,
                NodeCommand.Kind.STOP,
                {"replica": replica.public_id, "grace_s": GRACE_S, "reason": reason, **saving},
                replica.attempt.epoch,
                now,
            )
            for replica in told
            if replica.pk not in known
        ]
    )
    wake.gateways(replica.node_id for replica in told)
    if withdrawn:
        end_replicas([Member.of(replica) for replica in withdrawn], ReplicaState.STOPPED, now, now, "never started")


def _saving(job: Job) -> dict[str, Any]:
    """The signal upon which the job saves its state first, and the seconds for it, if it chose one."""
    chosen = job.spec.get("checkpoint")
    return {"signal": chosen["signal"], "signal_s": chosen["grace_s"]} if chosen else {}


def expire_jobs(now: datetime, actor: Actor | None = None) -> int:
    """Stops every job whose maximum duration or deadline is over by the server's clock; one that still waits ends.

    Returns how many.
    """
    actor = actor or system("scheduler")
    due = Job.objects.filter(deadline_at__lte=now, state__in=[JobState.QUEUED, JobState.STARTING, JobState.RUNNING])
    stopped = 0
    for job in due.order_by("deadline_at")[:200]:
        late = job.finish_by is not None and job.finish_by <= now
        reason = StopReason.DEADLINE if late else StopReason.EXPIRE
        with transaction.atomic():
            if _end_waiting(job, reason, now) if job.state == JobState.QUEUED else stop_job(job, reason, now):
                note(job.pk, now, "expired", actor.label, reason=reason)
                audit.record(actor, "job.expire", job, tenant_id=job.tenant_id, after={"reason": reason})
                stopped += 1
    return stopped


def _end_waiting(job: Job, reason: StopReason, now: datetime) -> bool:
    """Queued -> expired; False: it waits no longer."""
    waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED)
    return bool(waiting.update(state=JobState.EXPIRED, finished_at=now, outcome=reason, deadline_at=None))
