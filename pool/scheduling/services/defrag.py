"""Plans against fragmentation: asked for, stored, approved, rejected, closed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common import clock
from console.common.actor import Actor, system
from console.common.errors import Conflict
from console.common.sending import send
from pool.engine.defrag import Step, Sweep
from pool.scheduling.defrag import told
from pool.scheduling.defrag.gather import Candidate
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules, DefragStep, FragmentationSample
from pool.scheduling.preemption.pledges import placement_json
from pool.scheduling.services.defrag_rules import check_operator

PLANNER = system("defragmentation")
VALID = timedelta(minutes=30)  # a plan that nobody approved by then is dropped
_State, _Dropped = DefragPlan.State, DefragPlan.Dropped


@dataclass(frozen=True, slots=True)
class Made:
    """A sweep of the engine and whom its movables stand for, by job."""

    sweep: Sweep
    candidates: Mapping[int, Candidate]
    duration_us: int


def ask_for_plan(actor: Actor) -> DefragPlan:
    """A row that a worker makes a plan of, within a minute at most; one at a time: another is the same one. Raises
    NotAllowed."""
    from pool.scheduling.tasks import defragment  # tasks call services

    check_operator(actor)
    with transaction.atomic():
        found = DefragPlan.objects.filter(state=_State.WANTED).first()
        if found is None:
            found = _new(on_demand=True, asked_by=actor.label, now=clock.now())
            audit.record(actor, "defrag.ask", found)
        transaction.on_commit(lambda: send(defragment))
    return found


def plan_due(now: datetime, mode: str) -> DefragPlan:
    """The row of a plan by schedule."""
    return _new(on_demand=False, asked_by=PLANNER.label, now=now, mode=mode)


def _new(on_demand: bool, asked_by: str, now: datetime, mode: str | None = None) -> DefragPlan:
    mode = mode or DefragRules.objects.filter(pk=1).values_list("mode", flat=True).first() or DefragRules.Mode.APPROVE
    return DefragPlan.objects.create(mode=mode, on_demand=on_demand, asked_by=asked_by, created_at=now)


def store_plan(plan: DefragPlan, made: Made, now: datetime) -> bool:
    """Wanted -> proposed (or empty), with its steps and moves; older ones that nobody approved are dropped. False: it
    was stored before."""
    sweep = made.sweep
    state = _State.PROPOSED if sweep.steps else _State.EMPTY
    with transaction.atomic():
        moved = DefragPlan.objects.filter(pk=plan.pk, state=_State.WANTED).update(
            state=state,
            before=told.figures_of(sweep.before),
            after=told.figures_of(sweep.after),
            moves=sweep.moves,
            cost_s=sweep.cost,
            snapshot=sweep.snapshot_id[:64],
            duration_us=made.duration_us,
            ended_at=None if sweep.steps else now,
        )
        if not moved:
            return False
        _drop(DefragPlan.objects.filter(state=_State.PROPOSED).exclude(pk=plan.pk), _Dropped.EXPIRED, now)
        number = 0
        for at, step in enumerate(sweep.steps):
            row = _step_row(plan, at, step)
            moves = [_move_row(row, number + index, move, made) for index, move in enumerate(step.moves)]
            DefragMove.objects.bulk_create(moves)
            number += len(moves)
    return True


def _step_row(plan: DefragPlan, number: int, step: Step) -> DefragStep:
    return DefragStep.objects.create(
        plan=plan,
        number=number,
        work=told.work_of(step.work),
        job_id=step.job,
        placement=placement_json(step.placed),
        freed_bp=step.freed,
        cost_s=step.cost,
    )


def _move_row(step: DefragStep, number: int, move: Any, made: Made) -> DefragMove:
    found = made.candidates[move.movable.job.key]
    return DefragMove(
        step=step,
        number=number,
        job_id=move.movable.job.key,
        replica_id=found.replica,
        attempt=found.attempt,
        source=told.holds_json(move.movable.holds),
        target=placement_json(move.to),
        cost_s=move.movable.cost,
        checkpoint_age_s=found.checkpoint_age_s,
    )


def approve_plan(actor: Actor, plan: DefragPlan) -> DefragPlan:
    """Proposed -> running. Raises NotAllowed; Conflict where it is not (any longer) proposed, plans are shown only, or
    another one runs."""
    check_operator(actor)
    return start_plan(actor, plan, clock.now())


def start_plan(actor: Actor, plan: DefragPlan, now: datetime) -> DefragPlan:
    if plan.mode == DefragRules.Mode.PREVIEW:
        raise Conflict(
            _("plans are for preview only: set the mode to approve, and ask for another one"), code="preview"
        )
    try:
        with transaction.atomic():
            moved = DefragPlan.objects.filter(pk=plan.pk, state=_State.PROPOSED, created_at__gt=now - VALID).update(
                state=_State.RUNNING, approved_by=actor.label, approved_at=now
            )
            if not moved:
                raise Conflict(_("this plan is no longer proposed; ask for another one"), code="not_proposed")
            after = {"moves": plan.moves, "cost_s": plan.cost_s}
            audit.record(actor, "defrag.approve", plan, after=after)
    except IntegrityError:
        raise Conflict(_("another plan is being carried out"), code="another_runs") from None
    plan.refresh_from_db()
    return plan


def reject_plan(actor: Actor, plan: DefragPlan) -> DefragPlan:
    """Proposed or running -> dropped; moves that were begun are finished. Raises NotAllowed, Conflict."""
    check_operator(actor)
    with transaction.atomic():
        open_ = DefragPlan.objects.filter(pk=plan.pk, state__in=[_State.PROPOSED, _State.RUNNING])
        if not _drop(open_, _Dropped.REJECTED, clock.now()):
            raise Conflict(_("this plan has ended already"), code="ended")
        audit.record(actor, "defrag.reject", plan)
    plan.refresh_from_db()
    return plan


def expire_plans(now: datetime) -> int:
    """Drops what nobody approved in time."""
    with transaction.atomic():
        return _drop(
            DefragPlan.objects.filter(state=_State.PROPOSED, created_at__lte=now - VALID), _Dropped.EXPIRED, now
        )


def _drop(plans: Any, why: str, now: datetime) -> int:
    gone = list(plans.values_list("pk", flat=True))
    planned = DefragMove.objects.filter(step__plan__in=gone, state=DefragMove.State.PLANNED)
    planned.update(state=DefragMove.State.DROPPED, dropped=DefragMove.Dropped.PLAN, ended_at=now)
    return int(DefragPlan.objects.filter(pk__in=gone).update(state=_State.DROPPED, dropped=why, ended_at=now))


def store_measure(at: datetime, figures: Mapping[str, Any], cells: bytes, devices: int) -> bool:
    """A sample, and the map of now in place of the last one. False: that moment is stored already."""
    values = {name: figures[name] for name in ("capacity_bp", "free_bp", "stranded_bp", "spread_bp")}
    with transaction.atomic():
        row, created = FragmentationSample.objects.get_or_create(
            at=at,
            defaults={
                **values,
                "stranded_devices": figures["stranded_devices"],
                "devices": devices,
                "classes": figures["classes"],
                "cells": cells,
            },
        )
        if created:
            FragmentationSample.objects.exclude(pk=row.pk).filter(cells__isnull=False).update(cells=None)
    return created
