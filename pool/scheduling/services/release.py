"""Giving back what replicas held, and what follows for their job."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F
from django.db.models.functions import Greatest

from pool.scheduling import wake
from pool.scheduling.models import Allocation, Attempt, Interval, Job, JobState, Replica, ReplicaState
from pool.scheduling.services.commands import close_commands
from pool.scheduling.services.events import note
from pool.scheduling.states import REPLICA_FINAL, StopReason, check_job

MAX_LOSSES = 5  # a job that lost its nodes this often is given up


def end_replicas(
    replicas: Sequence[Replica],
    state: ReplicaState,
    ended_at: datetime,
    now: datetime,
    detail: str,
    exit_code: int | None = None,
) -> list[Replica]:
    """Live -> final for these replicas of one job: capacity is free, intervals close at the true end.

    Returns those that this call ended; a replica that has ended before is left alone. In a transaction.
    """
    ended = [
        replica
        for replica in replicas
        if Replica.objects.filter(pk=replica.pk)
        .exclude(state__in=REPLICA_FINAL)
        .update(state=state, ended_at=ended_at, exit_code=exit_code, exit_detail=detail[:200])
    ]
    if not ended:
        return []
    ids = [replica.pk for replica in ended]
    Interval.objects.filter(allocation__replica_id__in=ids, ended_at__isnull=True).update(
        # the start is the floor: a wrong age can shorten a bill to nothing, never below
        ended_at=Greatest(F("started_at"), ended_at),
        end_reason=state,
        closed_at=now,
    )
    Allocation.objects.filter(replica_id__in=ids, released_at__isnull=True).update(released_at=now)
    close_commands(ids, [replica.pk for replica in ended if replica.started_at or exit_code is not None])
    wake.scheduler(node_ids=[replica.node_id for replica in ended])
    for replica in ended:
        replica.state = state
    _settle(ended[0].attempt, state, now)
    return ended


def lock_attempt(attempt: Attempt) -> None:
    """Serialises the news of one attempt: two last members that end together must see each other.

    An UPDATE takes the row lock on PostgreSQL; on SQLite the transaction holds the write lock anyway.
    """
    Attempt.objects.filter(pk=attempt.pk).update(epoch=F("epoch"))


def _settle(attempt: Attempt, news: ReplicaState, now: datetime) -> None:
    """After some replicas ended: end the attempt when all have, or stop a gang that fell below its minimum."""
    from pool.scheduling.services.stopping import stop_job  # stopping ends replicas, and ending may stop

    lock_attempt(attempt)
    job = Job.objects.get(pk=attempt.job_id)
    states = list(Replica.objects.filter(attempt=attempt).values_list("state", flat=True))
    live = [state for state in states if state not in REPLICA_FINAL]
    if live:
        useful = len(live) + states.count(ReplicaState.SUCCEEDED)
        if news in {ReplicaState.FAILED, ReplicaState.LOST} and useful < job.min_member:
            stop_job(job, StopReason.GANG, now)
        return
    _finish_attempt(job, attempt, states, now)


def _finish_attempt(job: Job, attempt: Attempt, states: list[str], now: datetime) -> None:
    outcome = _outcome(job, states)
    updated = Attempt.objects.filter(pk=attempt.pk, ended_at__isnull=True).update(ended_at=now, outcome=outcome)
    if not updated:
        return
    target = _next_state(job, outcome)
    check_job(job.state, target)
    again = target == JobState.QUEUED
    Job.objects.filter(pk=job.pk).update(
        state=target,
        stop_reason="",
        outcome="" if again else outcome,
        finished_at=None if again else now,
        deadline_at=None,
        **({"queued_at": now, "started_at": None} if again else {}),
    )
    note(job, now, "requeued" if again else "finished", state=target, outcome=outcome, attempt=attempt.number)
    if again:
        wake.scheduler([job.pk])


def _outcome(job: Job, states: list[str]) -> str:
    """One word for the attempt: what most decided how it ended."""
    if job.stop_reason and job.stop_reason != StopReason.GANG:
        return job.stop_reason
    if ReplicaState.LOST in states:
        return "lost"
    if states.count(ReplicaState.SUCCEEDED) >= min(job.min_member, len(states)):
        return "succeeded"
    return "failed"


def _next_state(job: Job, outcome: str) -> JobState:
    fixed = {
        StopReason.CANCEL: JobState.CANCELLED,
        StopReason.EXPIRE: JobState.EXPIRED,
        StopReason.REQUEUE: JobState.QUEUED,
        StopReason.PREEMPT: JobState.QUEUED,
        "succeeded": JobState.SUCCEEDED,
    }
    if outcome in fixed:
        return fixed[outcome]
    before = Attempt.objects.filter(job=job, outcome=outcome).count()
    # a lost node is no fault of the job: it does not use up the job's own retries
    allowed = MAX_LOSSES if outcome == "lost" else job.max_retries
    return JobState.QUEUED if before <= allowed else JobState.FAILED
