"""News of replicas from their nodes. Each may come late, twice or not at all."""

from datetime import datetime, timedelta

from django.db import transaction

from console.audit import services as audit
from console.common import sql
from console.common.actor import system
from pool.scheduling.models import Replica, ReplicaState
from pool.scheduling.services.events import note, note_where
from pool.scheduling.services.release import Member, ask_members, end_replicas, lock_attempt, members_of
from pool.scheduling.states import REPLICA_FINAL

_RESULTS = {
    "succeeded": ReplicaState.SUCCEEDED,
    "failed": ReplicaState.FAILED,
    "stopped": ReplicaState.STOPPED,
    "lost": ReplicaState.LOST,
}
_NODE = system("node control")


def replica_started(public_id: str, *, received_at: datetime, age_us: int = 0) -> bool:
    """The process runs since `age_us` microseconds (by the node's monotonic clock). False: old news."""
    with transaction.atomic():
        member = members_of(ask_members([public_id])).get(public_id)
        if member is None:
            return False
        with sql.together():
            moved = start_member(member, received_at, age_us)
        return bool(moved.rows())


def start_member(member: Member, received_at: datetime, age_us: int) -> sql.Asked:
    """`replica_started` within a transaction and `together`, of a replica that has been read: a row if it moved.

    Job: starting -> running once every replica of the attempt runs; the maximum duration counts from there. Nothing
    here needs the answer of what went before, so nothing is waited for.
    """
    at = _true_time(received_at, age_us, member.assigned_at)
    moved = sql.ask(
        "UPDATE scheduling_replica SET state = 'running', started_at = %s"
        " WHERE id = %s AND state = 'assigned' RETURNING id",
        at,
        member.pk,
    )
    if not member.alone:
        lock_attempt(member.attempt_id)
    ends = [end for end in (member.max_duration and at + member.max_duration, member.finish_by) if end]
    deadline_at = min(ends, default=None)
    sql.execute(_JOB_RUNS, at, deadline_at, member.job_id, member.attempt_id, member.pk)
    note_where(_JUST_RAN, [member.attempt_id, at], member.job_id, at, "started", attempt=member.attempt)
    sql.execute(_ATTEMPT_RUNS, at, member.attempt_id, at)
    if member.state == ReplicaState.ASSIGNED:
        member.state, member.started_at = ReplicaState.RUNNING, at
    return moved


# late news of an earlier attempt must not do it: its replica is not running
_JOB_RUNS = (
    "UPDATE scheduling_job SET state = 'running', started_at = %s, deadline_at = %s WHERE id = %s"
    " AND state = 'starting' AND NOT EXISTS (SELECT 1 FROM scheduling_replica r WHERE r.attempt_id = %s"
    " AND (r.state = 'assigned' OR r.id = %s AND r.state <> 'running'))"
)
# by that statement, and not noted yet
_JUST_RAN = (
    "scheduling_attempt.id = %s AND scheduling_attempt.started_at IS NULL AND EXISTS (SELECT 1 FROM scheduling_job j"
    " WHERE j.id = scheduling_attempt.job_id AND j.state = 'running' AND j.started_at = %s)"
)
_ATTEMPT_RUNS = f"UPDATE scheduling_attempt SET started_at = %s WHERE {_JUST_RAN}"  # noqa: S608


def replica_ended(
    public_id: str,
    *,
    received_at: datetime,
    age_us: int,
    exit_code: int | None,
    detail: str,
    result: str,
) -> bool:
    """The process group has ended `age_us` microseconds ago. `result`: succeeded, failed, stopped or lost.

    The interval closes at that moment, never before the replica's start and never in the future, so that
    neither a skewed clock nor late news changes the bill. False: it had ended already.
    """
    with transaction.atomic():
        member = members_of(ask_members([public_id])).get(public_id)
        return member is not None and end_member(member, received_at, age_us, exit_code, detail, result)


def end_member(
    member: Member,
    received_at: datetime,
    age_us: int,
    exit_code: int | None,
    detail: str,
    result: str,
    locked: bool = False,
) -> bool:
    """`replica_ended` within a transaction, of a replica that has been read. `locked`: it holds the nodes already."""
    if member.state in REPLICA_FINAL:
        return False
    at = _true_time(received_at, age_us, member.started_at or member.assigned_at)
    return bool(end_replicas([member], _RESULTS[result], at, received_at, detail, exit_code, locked))


def replicas_lost(node_id: int, *, last_proof_at: datetime, now: datetime, reason: str) -> int:
    """The node gave no proof of life for a whole lease: the clock stops at the last one. Returns how many."""
    lost = 0
    live = Replica.objects.filter(node_id=node_id).exclude(state__in=REPLICA_FINAL)
    for replica in live.select_related("job").order_by("pk"):
        with transaction.atomic():
            at = max(last_proof_at, replica.assigned_at)
            if end_replicas([Member.of(replica)], ReplicaState.LOST, min(at, now), now, reason):
                note(replica.job_id, now, "replica_lost", rank=replica.rank, reason=reason)
                audit.record(_NODE, "replica.lost", replica, tenant_id=replica.job.tenant_id, after={"reason": reason})
                lost += 1
    return lost


def _true_time(received_at: datetime, age_us: int, floor: datetime) -> datetime:
    """When it happened, by the server's clock: receive time less the age that the node measured."""
    return max(floor, received_at - timedelta(microseconds=max(0, age_us)))
