"""Giving back what replicas held, and what follows for their job."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from pool.inventory.services import lock_nodes
from pool.scheduling import wake
from pool.scheduling.models import Attempt, Job, JobState, Replica, ReplicaState
from pool.scheduling.services.commands import close_commands
from pool.scheduling.services.events import note
from pool.scheduling.services.gangs import lock_attempts
from pool.scheduling.states import JOB_FINAL, REPLICA_FINAL, StopReason, check_job

MAX_LOSSES = 5  # a job that lost its nodes this often is given up
_FELL = (ReplicaState.FAILED, ReplicaState.LOST)  # what may stop a gang
_FINAL = tuple(str(state) for state in REPLICA_FINAL)


@dataclass(slots=True)
class Member:
    """What news of a replica needs to know of it. `job`, `attempt` and `max_duration` are known where it was read."""

    pk: int
    public_id: str
    node_id: int
    attempt_id: int
    job_id: int
    state: str
    assigned_at: datetime
    started_at: datetime | None
    job: str = ""
    attempt: int = 0
    max_duration: timedelta | None = None
    finish_by: datetime | None = None
    alone: bool = False  # the only replica of its attempt, so that no other news concerns it

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


def ask_members(public_ids: Collection[str]) -> sql.Asked:
    """For `members_of`."""
    wanted: list[Any] = list(public_ids)
    named, names = sql.among("r.public_id", wanted)
    return sql.ask(
        "SELECT r.id, r.public_id, r.node_id, r.attempt_id, r.job_id, r.state, r.assigned_at, r.started_at,"
        " j.public_id, a.number, j.max_duration, j.finish_by, NOT EXISTS (SELECT 1 FROM scheduling_replica o"
        " WHERE o.attempt_id = r.attempt_id AND o.id <> r.id) FROM scheduling_replica r"
        " JOIN scheduling_job j ON j.id = r.job_id"
        f" JOIN scheduling_attempt a ON a.id = r.attempt_id WHERE {named}",
        *names,
    )


def members_of(asked: sql.Asked) -> dict[str, Member]:
    """By public id."""
    found = (Member(*row) for row in asked.rows())
    return {member.public_id: _mended(member) for member in found}


def _mended(member: Member) -> Member:
    member.assigned_at = read_datetime(member.assigned_at)
    member.started_at = read_datetime(member.started_at) if member.started_at else None
    member.max_duration = read_duration(member.max_duration)
    member.finish_by = read_datetime(member.finish_by) if member.finish_by else None
    return member


def end_replicas(
    replicas: Sequence[Member],
    state: ReplicaState,
    ended_at: datetime,
    now: datetime,
    detail: str,
    exit_code: int | None = None,
    locked: bool = False,
) -> list[Member]:
    """Live -> final for these replicas of one attempt: capacity is free, intervals close at the true end.

    Returns those that this call ended; a replica that has ended before is left alone: then nothing of it is open, and
    the rest finds nothing to change. In a transaction. `locked`: it holds the nodes already.
    """
    if not replicas:
        return []
    ids, attempt = [replica.pk for replica in replicas], replicas[0].attempt_id
    with sql.together():
        if not locked:
            _lock(replicas, state)
        told = [_end(replica, state, ended_at, detail, exit_code) for replica in replicas]
        _free(ids, state, ended_at, now)
        close_commands(ids, [replica.pk for replica in replicas if replica.started_at or exit_code is not None])
        if not replicas[0].alone:
            lock_attempt(attempt)
        states = sql.ask("SELECT state FROM scheduling_replica WHERE attempt_id = %s", attempt)
        course = sql.ask(_COURSE, attempt)
    ended = [replica for replica, moved in zip(replicas, told, strict=True) if moved.rows()]
    if not ended:
        return []
    wake.scheduler(node_ids=[replica.node_id for replica in ended])
    for replica in ended:
        replica.state = state
    _settle(ended[0], [state for (state,) in states.rows()], course.rows(), now)
    return ended


def _lock(replicas: Sequence[Member], state: ReplicaState) -> None:
    nodes = [replica.node_id for replica in replicas]
    if state in _FELL:
        lock_attempts(nodes, {replica.attempt_id for replica in replicas})
    else:
        lock_nodes(nodes)


def _end(replica: Member, state: ReplicaState, at: datetime, detail: str, exit_code: int | None) -> sql.Asked:
    return sql.ask(
        "UPDATE scheduling_replica SET state = %s, ended_at = %s, exit_code = %s, exit_detail = %s"
        f" WHERE id = %s AND state NOT IN ({sql.marks(_FINAL)}) RETURNING id",
        str(state),
        at,
        exit_code,
        detail[:200],
        replica.pk,
        *_FINAL,
    )


def _free(ids: list[int], state: ReplicaState, ended_at: datetime, now: datetime) -> None:
    at_end = "MAX(started_at, %s)" if connection.vendor == "sqlite" else "GREATEST(started_at, %s)"
    of_them, keys = sql.among("replica_id", ids)
    sql.execute(
        # the start is the floor: a wrong age can shorten a bill to nothing, never below
        f"UPDATE scheduling_interval SET ended_at = {at_end}, end_reason = %s, closed_at = %s"
        " WHERE ended_at IS NULL AND allocation_id IN"
        f" (SELECT id FROM scheduling_allocation WHERE {of_them})",
        ended_at,
        str(state),
        now,
        *keys,
    )
    sql.execute(
        f"UPDATE scheduling_allocation SET released_at = %s WHERE released_at IS NULL AND {of_them}",
        now,
        *keys,
    )


def lock_attempt(attempt_id: int) -> None:
    """Serialises the news of one attempt: two last members that end together must see each other.

    The row lock of PostgreSQL; on SQLite the transaction holds the write lock anyway.
    """
    if connection.vendor == "postgresql":
        sql.ask("SELECT id FROM scheduling_attempt WHERE id = %s FOR UPDATE", attempt_id)


def _settle(member: Member, states: list[str], course: list[tuple[Any, ...]], now: datetime) -> None:
    """After some replicas ended: end the attempt when all have, or stop a gang that fell below its minimum."""
    from pool.scheduling.services.stopping import stop_job  # stopping ends replicas, and ending may stop

    live = [state for state in states if state not in REPLICA_FINAL]
    if not live and course:
        _finish_attempt(member, states, _Course(*course[0]), now)
    elif live and member.state in _FELL:
        job = Job.objects.get(pk=member.job_id)
        if len(live) + states.count(ReplicaState.SUCCEEDED) < job.min_member or _lacks_role(member):
            stop_job(job, StopReason.GANG, now)


def _lacks_role(member: Member) -> bool:
    """Whether a role of the attempt has fewer members than it needs, those that ended well among them."""
    gone = [str(state) for state in (*_FELL, ReplicaState.STOPPED)]
    left = f"p.role_id = r.id AND p.attempt_id = %s AND p.state NOT IN ({sql.marks(gone)})"
    return bool(
        sql.fetch(
            "SELECT r.id FROM scheduling_jobrole r WHERE r.job_id = %s AND r.min_replicas >"
            f" (SELECT COUNT(*) FROM scheduling_replica p WHERE {left})",
            member.job_id,
            member.attempt_id,
            *gone,
        )
    )


# nothing when the attempt has ended already
_COURSE = (
    "SELECT j.id, j.state, j.stop_reason, j.min_member, j.max_retries, a.number FROM scheduling_job j"
    " JOIN scheduling_attempt a ON a.job_id = j.id WHERE a.id = %s AND a.ended_at IS NULL"
)


@dataclass(frozen=True, slots=True)
class _Course:
    """What decides where a job goes when its attempt has ended."""

    job_id: int
    state: str
    stop_reason: str
    min_member: int
    max_retries: int
    attempt: int


def _finish_attempt(member: Member, states: list[str], job: _Course, now: datetime) -> None:
    outcome = _outcome(job, states)
    target = _next_state(job, outcome)
    check_job(job.state, target)
    again = target not in JOB_FINAL
    with sql.together():
        sql.execute(
            "UPDATE scheduling_attempt SET ended_at = %s, outcome = %s WHERE id = %s", now, outcome, member.attempt_id
        )
        sql.execute(
            "UPDATE scheduling_job SET state = %s, stop_reason = '', outcome = %s, finished_at = %s,"
            + (" deadline_at = finish_by, queued_at = %s, started_at = NULL" if again else " deadline_at = NULL")
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
        StopReason.DEADLINE: JobState.EXPIRED,
        StopReason.REQUEUE: JobState.QUEUED,
        StopReason.PREEMPT: JobState.QUEUED,
        StopReason.MOVE: JobState.QUEUED,
        "succeeded": JobState.SUCCEEDED,
    }
    if outcome in fixed:
        return fixed[outcome]
    # this attempt counts too: its outcome is not stored yet
    before = 1 + Attempt.objects.filter(job_id=job.job_id, outcome=outcome).count()
    # a lost node is no fault of the job: it does not use up the job's own retries
    allowed = MAX_LOSSES if outcome == "lost" else job.max_retries
    return JobState.QUEUED if before <= allowed else JobState.FAILED
