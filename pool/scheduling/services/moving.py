"""A move as it is made: the job stops, and its row says where it goes on. Fenced by the scheduler's epoch."""

from datetime import datetime

from django.db import IntegrityError, transaction

from console.audit import services as audit
from console.common import lease
from console.common.actor import system
from pool.inventory.models import Node
from pool.inventory.services import lock_nodes
from pool.scheduling.models import DefragMove, DefragPlan, DefragStep, Job, JobState
from pool.scheduling.services.events import note
from pool.scheduling.services.placement import Fenced
from pool.scheduling.services.stopping import live_replicas, stop_job
from pool.scheduling.states import StopReason

_SCHEDULER = system("scheduler")
_State = DefragMove.State


class _Changed(Exception):
    """What was planned is no longer so."""


def start_move(move: DefragMove, lease_name: str, epoch: int, now: datetime) -> bool:
    """Tells the job to end and stores that its new place is held for it. False: it does not run there as planned (any
    longer), or the plan was dropped; then nothing was changed. Raises Fenced."""
    try:
        with transaction.atomic():
            if not lease.hold(lease_name, epoch).rows():
                raise Fenced("this scheduler lost its lease")
            _start(move, now)
    except (_Changed, IntegrityError):
        return False
    return True


def _start(move: DefragMove, now: datetime) -> None:
    lock_nodes([move.source["node"]])
    job = Job.objects.filter(pk=move.job_id, state=JobState.RUNNING, attempt_count=move.attempt).first()
    if job is None or [replica.pk for replica in live_replicas(job)] != [move.replica_id]:
        raise _Changed
    running = DefragPlan.objects.filter(pk=move.step.plan_id, state=DefragPlan.State.RUNNING)
    if not running.update(state=DefragPlan.State.RUNNING):
        raise _Changed
    if not DefragMove.objects.filter(pk=move.pk, state=_State.PLANNED).update(state=_State.MOVING, started_at=now):
        raise _Changed
    if not stop_job(job, StopReason.MOVE, now):
        raise _Changed
    names = dict(Node.objects.filter(pk__in=[move.source["node"], node_of(move)]).values_list("pk", "name"))
    facts = {"from": names.get(move.source["node"], ""), "to": names.get(node_of(move), "")}
    note(job.pk, now, "moving", _SCHEDULER.label, **facts)
    before, after = {"state": "running"}, {"plan": move.step.plan.public_id, **facts}
    audit.record(_SCHEDULER, "job.move", job, tenant_id=job.tenant_id, before=before, after=after)


def close_move(move: DefragMove, state: str, dropped: str, now: datetime) -> bool:
    """Ends it once, and those of its step that were not begun when it was dropped. False: it had ended."""
    with transaction.atomic():
        open_ = DefragMove.objects.filter(pk=move.pk, state__in=[_State.PLANNED, _State.MOVING])
        if not open_.update(state=state, dropped=dropped, ended_at=now):
            return False
        if move.started_at is not None and dropped:
            note(move.job_id, now, "move_dropped", _SCHEDULER.label, why=dropped)
            audit.record(_SCHEDULER, "job.move_dropped", move.job, tenant_id=move.job.tenant_id, after={"why": dropped})
        if dropped:
            others = DefragMove.objects.filter(step_id=move.step_id, state=_State.PLANNED)
            others.update(state=_State.DROPPED, dropped=DefragMove.Dropped.STEP, ended_at=now)
    return True


def close_step(step: DefragStep, now: datetime) -> bool:
    return bool(DefragStep.objects.filter(pk=step.pk, closed_at=None).update(closed_at=now))


def close_plan(plan: DefragPlan, now: datetime, stale: bool = False) -> bool:
    """Running -> done, or dropped where not one of its moves came to pass, or it went stale. False: it had ended."""
    with transaction.atomic():
        moves = DefragMove.objects.filter(step__plan=plan)
        moves.filter(state=_State.PLANNED).update(state=_State.DROPPED, dropped=DefragMove.Dropped.PLAN, ended_at=now)
        dropped = stale or not moves.filter(state=_State.MOVED).exists()
        state = DefragPlan.State.DROPPED if dropped else DefragPlan.State.DONE
        why = DefragPlan.Dropped.STALE if dropped else ""
        closed = DefragPlan.objects.filter(pk=plan.pk, state=DefragPlan.State.RUNNING).update(
            state=state, dropped=why, ended_at=now
        )
        if closed:
            audit.record(_SCHEDULER, "defrag.end", plan, after={"state": state})
    return bool(closed)


def node_of(move: DefragMove) -> int:
    """Where it goes."""
    return int(move.target["replicas"][0]["node_key"])
