"""News of replicas from their nodes. Each may come late, twice or not at all."""

from datetime import datetime, timedelta

from django.db import transaction

from console.audit import services as audit
from console.common import sql
from console.common.actor import system
from pool.scheduling.models import Replica, ReplicaState
from pool.scheduling.services.events import note
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
        return member is not None and start_member(member, received_at, age_us)


def start_member(member: Member, received_at: datetime, age_us: int) -> bool:
    """`replica_started` within a transaction, of a replica that has been read. Job: starting -> running once every
    replica of the attempt runs; the maximum duration counts from there."""
    at = _true_time(received_at, age_us, member.assigned_at)
    with sql.together():
        moved = sql.ask(
            "UPDATE scheduling_replica SET state = 'running', started_at = %s"
            " WHERE id = %s AND state = 'assigned' RETURNING id",
            at,
            member.pk,
        )
        lock_attempt(member.attempt_id)
        waiting = sql.ask(
            "SELECT id FROM scheduling_replica WHERE attempt_id = %s AND state = 'assigned' LIMIT 1", member.attempt_id
        )
        if not moved.rows():
            return False
        member.state, member.started_at = ReplicaState.RUNNING, at
        if not waiting.rows():
            _job_runs(member, at)
    return True


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
    member: Member, received_at: datetime, age_us: int, exit_code: int | None, detail: str, result: str
) -> bool:
    """`replica_ended` within a transaction, of a replica that has been read."""
    if member.state in REPLICA_FINAL:
        return False
    at = _true_time(received_at, age_us, member.started_at or member.assigned_at)
    return bool(end_replicas([member], _RESULTS[result], at, received_at, detail, exit_code))


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


def _job_runs(member: Member, at: datetime) -> None:
    moved = sql.ask(
        "UPDATE scheduling_job SET state = 'running', started_at = %s, deadline_at = %s"
        " WHERE id = %s AND state = 'starting' RETURNING id",
        at,
        at + member.max_duration if member.max_duration else None,
        member.job_id,
    )
    if moved.rows():
        sql.execute("UPDATE scheduling_attempt SET started_at = %s WHERE id = %s", at, member.attempt_id)
        note(member.job_id, at, "started", attempt=member.attempt)
