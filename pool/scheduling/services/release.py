"""Giving back what replicas held, and what follows for their job."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from console.common import sql
from console.common.bulk import read_datetime
from pool.scheduling import wake
from pool.scheduling.models import Attempt, Job, JobState, Replica, ReplicaState
from pool.scheduling.services.commands import close_commands
from pool.scheduling.services.events import note
from pool.scheduling.states import JOB_FINAL, REPLICA_FINAL, StopReason, check_job

MAX_LOSSES = 5  # a job that lost its nodes this often is given up
_FINAL = tuple(str(state) for state in REPLICA_FINAL)


@dataclass(slots=True)
class Member:
    """What ending a replica needs to know of it."""

    pk: int
    public_id: str
    node_id: int
    attempt_id: int
    job_id: int
    state: str
    assigned_at: datetime
    started_at: datetime | None

    @classmethod
    def of(cls, replica: Replica) -> "Member":
        return cls(
            replica.pk,
            replica.public_id,
            replica.node_id,
            replica.attempt_id,
            replica.job_id,
            replica.state,
            replica.assigned_at,
            replica.started_at,
        )


def read_member(public_id: str) -> Member | None:
    row = sql.first(
        "SELECT id, public_id, node_id, attempt_id, job_id, state, assigned_at, started_at"
        " FROM scheduling_replica WHERE public_id = %s",
        public_id,
    )
    if row is None:
        return None
    pk, name, node, attempt, job, state, assigned_at, started_at = row
    started = read_datetime(started_at) if started_at else None
    return Member(pk, name, node, attempt, job, state, read_datetime(assigned_at), started)


def end_replicas(
    replicas: Sequence[Member],
    state: ReplicaState,
    ended_at: datetime,
    now: datetime,
    detail: str,
    exit_code: int | None = None,
) -> list[Member]:
    """Live -> final for these replicas of one job: capacity is free, intervals close at the true end.

    Returns those that this call ended; a replica that has ended before is left alone. In a transaction.
    """
    ended = [replica for replica in replicas if _end(replica, state, ended_at, detail, exit_code)]
    if not ended:
        return []
    ids = [replica.pk for replica in ended]
    at_end = "MAX(started_at, %s)" if connection.vendor == "sqlite" else "GREATEST(started_at, %s)"
    sql.execute(
        # the start is the floor: a wrong age can shorten a bill to nothing, never below
        f"UPDATE scheduling_interval SET ended_at = {at_end}, end_reason = %s, closed_at = %s"
        " WHERE ended_at IS NULL AND allocation_id IN"
        f" (SELECT id FROM scheduling_allocation WHERE replica_id IN ({sql.marks(ids)}))",
        ended_at,
        str(state),
        now,
        *ids,
    )
    sql.execute(
        "UPDATE scheduling_allocation SET released_at = %s"
        f" WHERE released_at IS NULL AND replica_id IN ({sql.marks(ids)})",
        now,
        *ids,
    )
    close_commands(ids, [replica.pk for replica in ended if replica.started_at or exit_code is not None])
    wake.scheduler(node_ids=[replica.node_id for replica in ended])
    for replica in ended:
        replica.state = state
    _settle(ended[0], state, now)
    return ended


def _end(replica: Member, state: ReplicaState, at: datetime, detail: str, exit_code: int | None) -> int:
    return sql.execute(
        "UPDATE scheduling_replica SET state = %s, ended_at = %s, exit_code = %s, exit_detail = %s"
        f" WHERE id = %s AND state NOT IN ({sql.marks(_FINAL)})",
        str(state),
        at,
        exit_code,
        detail[:200],
        replica.pk,
        *_FINAL,
    )


def lock_attempt(attempt_id: int) -> None:
    """Serialises the news of one attempt: two last members that end together must see each other.

    The row lock of PostgreSQL; on SQLite the transaction holds the write lock anyway.
    """
    if connection.vendor == "postgresql":
        sql.fetch("SELECT id FROM scheduling_attempt WHERE id = %s FOR UPDATE", attempt_id)


def _settle(member: Member, news: ReplicaState, now: datetime) -> None:
    """After some replicas ended: end the attempt when all have, or stop a gang that fell below its minimum."""
    from pool.scheduling.services.stopping import stop_job  # stopping ends replicas, and ending may stop

    lock_attempt(member.attempt_id)
    rows = sql.fetch("SELECT state FROM scheduling_replica WHERE attempt_id = %s", member.attempt_id)
    states = [state for (state,) in rows]
    live = [state for state in states if state not in REPLICA_FINAL]
    if not live:
        _finish_attempt(member, states, now)
    elif news in {ReplicaState.FAILED, ReplicaState.LOST}:
        job = Job.objects.get(pk=member.job_id)
        if len(live) + states.count(ReplicaState.SUCCEEDED) < job.min_member:
            stop_job(job, StopReason.GANG, now)


@dataclass(frozen=True, slots=True)
class _Course:
    """What decides where a job goes when its attempt has ended."""

    job_id: int
    state: str
    stop_reason: str
    min_member: int
    max_retries: int
    attempt: int


def _finish_attempt(member: Member, states: list[str], now: datetime) -> None:
    row = sql.first(
        "SELECT j.id, j.state, j.stop_reason, j.min_member, j.max_retries, a.number FROM scheduling_job j"
        " JOIN scheduling_attempt a ON a.job_id = j.id WHERE a.id = %s AND a.ended_at IS NULL",
        member.attempt_id,
    )
    if row is None:
        return
    job = _Course(*row)
    outcome = _outcome(job, states)
    sql.execute(
        "UPDATE scheduling_attempt SET ended_at = %s, outcome = %s WHERE id = %s", now, outcome, member.attempt_id
    )
    target = _next_state(job, outcome)
    check_job(job.state, target)
    again = target not in JOB_FINAL
    sql.execute(
        "UPDATE scheduling_job SET state = %s, stop_reason = '', outcome = %s, finished_at = %s, deadline_at = NULL"
        + (", queued_at = %s, started_at = NULL" if again else "")
        + " WHERE id = %s",
        str(target),
        "" if again else outcome,
        None if again else now,
        *([now] if again else []),
        job.job_id,
    )
    note(
        job.job_id,
        now,
        "requeued" if again else "finished",
        state=str(target),
        outcome=outcome,
        attempt=job.attempt,
    )
    if again:
        wake.scheduler([job.job_id])


def _outcome(job: _Course, states: list[str]) -> str:
    """One word for the attempt: what most decided how it ended."""
    if job.stop_reason and job.stop_reason != StopReason.GANG:
        return str(job.stop_reason)
    if ReplicaState.LOST in states:
        return "lost"
    if states.count(ReplicaState.SUCCEEDED) >= min(job.min_member, len(states)):
        return "succeeded"
    return "failed"


def _next_state(job: _Course, outcome: str) -> JobState:
    fixed = {
        StopReason.CANCEL: JobState.CANCELLED,
        StopReason.EXPIRE: JobState.EXPIRED,
        StopReason.REQUEUE: JobState.QUEUED,
        StopReason.PREEMPT: JobState.QUEUED,
        "succeeded": JobState.SUCCEEDED,
    }
    if outcome in fixed:
        return fixed[outcome]
    before = Attempt.objects.filter(job_id=job.job_id, outcome=outcome).count()
    # a lost node is no fault of the job: it does not use up the job's own retries
    allowed = MAX_LOSSES if outcome == "lost" else job.max_retries
    return JobState.QUEUED if before <= allowed else JobState.FAILED
