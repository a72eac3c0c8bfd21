"""News of replicas from their nodes. Each may come late, twice or not at all."""

from datetime import datetime, timedelta

from django.db import transaction

from console.audit import services as audit
from console.common import sql
from console.common.actor import system
from pool.scheduling.models import Job, Replica, ReplicaState
from pool.scheduling.services.events import note
from pool.scheduling.services.release import Member, end_replicas, lock_attempt, read_member
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
        replica = read_member(public_id)
        if replica is None:
            return False
        at = _true_time(received_at, age_us, replica.assigned_at)
        moved = sql.execute(
            "UPDATE scheduling_replica SET state = 'running', started_at = %s WHERE id = %s AND state = 'assigned'",
            at,
            replica.pk,
        )
        if moved:
            _job_runs(replica, at)
        return bool(moved)


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
        replica = read_member(public_id)
        if replica is None or replica.state in REPLICA_FINAL:
            return False
        at = _true_time(received_at, age_us, replica.started_at or replica.assigned_at)
        ended = end_replicas([replica], _RESULTS[result], at, received_at, detail, exit_code)
        return bool(ended)


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


_JOB = sql.Reader("WHERE j.id = %s", j=Job)


def _job_runs(replica: Member, at: datetime) -> None:
    """Starting -> running once every replica of the attempt runs; the maximum duration counts from there."""
    lock_attempt(replica.attempt_id)
    if sql.fetch(
        "SELECT id FROM scheduling_replica WHERE attempt_id = %s AND state = 'assigned' LIMIT 1", replica.attempt_id
    ):
        return
    job: Job = _JOB(replica.job_id)[0][0]
    moved = sql.execute(
        "UPDATE scheduling_job SET state = 'running', started_at = %s, deadline_at = %s"
        " WHERE id = %s AND state = 'starting'",
        at,
        at + job.max_duration if job.max_duration else None,
        replica.job_id,
    )
    if moved:
        number = sql.fetch(
            "UPDATE scheduling_attempt SET started_at = %s WHERE id = %s RETURNING number", at, replica.attempt_id
        )
        note(replica.job_id, at, "started", attempt=number[0][0])
