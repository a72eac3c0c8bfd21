"""Measures every five minutes, plans every half hour or when asked: in a worker, never in the scheduler."""

import time
from datetime import datetime, timedelta

import structlog

from pool.engine.defrag import Budget, Measure, measure, plan_sweep
from pool.engine.types import WHOLE
from pool.scheduling.defrag import told
from pool.scheduling.defrag.gather import Scene, candidates, held_back_by_room, scene
from pool.scheduling.defrag.queries import RuleSet, rules
from pool.scheduling.defrag.windows import is_open
from pool.scheduling.models import DefragPlan, DefragRules, FragmentationSample
from pool.scheduling.services.defrag import (
    PLANNER,
    Made,
    expire_plans,
    plan_due,
    start_plan,
    store_measure,
    store_plan,
)
from pool.scheduling.sharing.published import slot

log = structlog.get_logger(__name__)


def work(now: datetime) -> None:
    """What is due now. Run twice or killed half-way, the state stays right: a plan is stored as a whole, once."""
    expire_plans(now)
    chosen = rules()
    wanted = DefragPlan.objects.filter(state=DefragPlan.State.WANTED).first()
    if wanted is None and _is_due(chosen, now):
        wanted = plan_due(now, chosen.mode)
    if wanted is None and FragmentationSample.objects.filter(at=slot(now)).exists():
        return
    here = scene(now)
    found = measure(here.mirror.fleet, here.works)
    store_measure(slot(now), told.figures_of(found), told.cells_of(here.mirror.fleet, found), found.capacity // WHOLE)
    if wanted is not None:
        make(wanted, here, chosen, now)


def make(plan: DefragPlan, here: Scene, chosen: RuleSet, now: datetime) -> None:
    """Makes the plan that is wanted, and begins it where the rules say so."""
    began = time.perf_counter_ns()
    able = {found.movable.job.key: found for found in candidates(here.mirror, chosen, now)}
    sweep = plan_sweep(
        here.mirror.fleet,
        here.works,
        [found.movable for found in able.values()],
        Budget(chosen.moves, chosen.lost_s, per_group=chosen.per_queue),
        held_back_by_room(here.waiting),
        {job: found.queue for job, found in able.items()},
    )
    took_us = (time.perf_counter_ns() - began) // 1000
    if not store_plan(plan, Made(sweep, able, took_us), now):
        return
    log.info("defrag_plan_made", plan=plan.public_id, moves=sweep.moves, cost_s=sweep.cost, took_us=took_us)
    plan.refresh_from_db()
    if sweep.steps and _by_itself(chosen, sweep.before, now) and not _runs():
        start_plan(PLANNER, plan, now)


def _is_due(chosen: RuleSet, now: datetime) -> bool:
    """Not while one is being carried out: its moves are what the next plan would be made around."""
    if not chosen.period_s or _runs():
        return False
    newest = DefragPlan.objects.order_by("-id").values_list("created_at", flat=True).first()
    return newest is None or newest + timedelta(seconds=chosen.period_s) <= now


def _runs() -> bool:
    return DefragPlan.objects.filter(state=DefragPlan.State.RUNNING).exists()


def _by_itself(chosen: RuleSet, before: Measure, now: datetime) -> bool:
    if chosen.mode != DefragRules.Mode.AUTOMATIC or not before.capacity:
        return False
    held_percent = 100 * (before.capacity - before.free) // before.capacity
    return held_percent <= chosen.busiest_percent and is_open(chosen.windows, chosen.time_zone, now)
