"""T27: moves honour a disruption budget and a parallel cap, and by itself defragmentation is gentle: only while little
of the pool is held, and no more than so many moves begin within five minutes."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from pool.scheduling.defrag.gather import candidates
from pool.scheduling.defrag.queries import RuleSet, rules
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules
from tests.scheduling.defrag.world import Scattered

pytestmark = pytest.mark.django_db


def test_by_default_it_is_gentle() -> None:
    usual = RuleSet()
    assert (usual.mode, usual.busiest_percent, usual.rest_s) == ("approve", 50, 300)


@pytest.mark.parametrize(("budget", "moves"), [({"moves": 1}, 0), ({"lost_s": 10}, 0), ({"per_queue": 1}, 0), ({}, 2)])
def test_a_plan_keeps_to_its_budget(budget: dict[str, int], moves: int) -> None:
    """Two moves of half an hour's work each, of one queue, are what four cards together take."""
    world = Scattered(rules=budget)
    world.wait_for_four()
    assert world.plan().moves == moves


def test_no_more_than_the_cap_move_at_once_and_the_next_not_before_five_minutes() -> None:
    world = Scattered(nodes=4, rules={"parallel": 1, "rest_s": 300})
    world.wait_for_four()
    world.wait_for_four()
    world.approve()
    began = []
    for _ in range(40):
        world.scheduler.mover._due = 0.0
        world.scheduler.sweep()
        assert DefragMove.objects.filter(state="moving").count() <= 1
        world.pass_by(70)
        began = list(DefragMove.objects.exclude(started_at=None).order_by("started_at"))
        if not DefragPlan.objects.filter(state="running").exists():
            break
    assert len(began) == DefragMove.objects.count() >= 2
    gaps = [later.started_at - sooner.started_at for sooner, later in pairwise(began)]
    assert min(gaps) >= timedelta(minutes=5)


@pytest.mark.parametrize(("busiest", "state"), [(50, "running"), (49, "proposed")])
def test_by_itself_only_while_little_is_held(busiest: int, state: str) -> None:
    """Half of the cards are held."""
    world = Scattered(rules={"mode": "automatic", "busiest_percent": busiest})
    world.wait_for_four()
    assert world.plan().state == state


def test_a_job_is_left_alone_after_its_move() -> None:
    world = Scattered(rules={"job_rest_s": 7200})
    world.wait_for_four()
    world.approve()
    world.through()
    moved = set(DefragMove.objects.values_list("job", flat=True))
    able = {found.movable.job.key for found in candidates(world.scheduler.mirror, rules(), world.now)}
    assert moved
    assert not moved & able
    DefragRules.objects.update(job_rest_s=0)
    able = {found.movable.job.key for found in candidates(world.scheduler.mirror, rules(), world.now)}
    assert moved <= able
