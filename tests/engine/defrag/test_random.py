"""Any pool: what is measured agrees with placing one by one, and a plan can be carried out step by step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, Placed, Policy
from pool.engine.defrag import Budget, Work, measure, plan_sweep
from pool.engine.moves import Movable
from pool.engine.moves.carry import release_all, take_placed
from pool.engine.trying import try_place
from tests.engine import make

pytestmark = pytest.mark.plain
QUIET = Policy(explain=False)


@st.composite
def churned(draw: st.DrawFn) -> tuple[Fleet, list[Movable]]:
    """Some jobs came and some left."""
    pool = Fleet.build(draw(make.fleets()))
    live = []
    for key in range(1, draw(st.integers(2, 14)) + 1):
        job = make.job(draw(make.requests()), key=key, tenant=draw(st.sampled_from(["t1", "t2"])))
        placed = try_place(pool, job, QUIET)
        if isinstance(placed, Placed):
            holds = pool.apply(placed, job.tenant, job.trust_group)
            if holds:
                live.append(Movable(job, holds, draw(st.integers(1, 50))))
    stay = [movable for movable in live if draw(st.booleans())]
    for movable in live:
        if movable not in stay:
            for hold in movable.holds:
                pool.release(hold)
    return pool, stay


@settings(max_examples=40)
@given(churned(), st.lists(make.requests(), min_size=1, max_size=4))
def test_a_plan_can_be_carried_out_and_helps(found: tuple[Fleet, list[Movable]], wanted: list) -> None:
    pool, movables = found
    works = [Work(request, weight) for weight, request in enumerate(wanted, 1) if request.devices]
    budget = Budget(moves=6, cost=120, block=3)
    sweep = plan_sweep(pool, works, movables, budget)
    assert sweep == plan_sweep(pool, works, list(reversed(movables)), budget)
    assert sweep.moves <= 6
    assert sweep.cost <= 120
    assert all(len(step.moves) <= 3 for step in sweep.steps)
    keys = [move.movable.job.key for step in sweep.steps for move in step.moves]
    assert len(keys) == len(set(keys))
    before = measure(pool, works)
    for step in sweep.steps:
        release_all(pool, [move.movable for move in step.moves])
        for move in step.moves:
            take_placed(pool, move.movable.job, move.to)  # strict: raises if it would use anything twice
    after = measure(pool, works)
    assert (after.stranded, after.spread_bp) == (sweep.after.stranded, sweep.after.spread_bp)
    lost = [sum(line.work.weight * line.unusable for line in each.lines) + each.stranded for each in (before, after)]
    assert lost[1] < lost[0] if sweep.steps else lost[1] == lost[0]


@settings(max_examples=40)
@given(churned(), make.requests())
def test_what_is_usable_is_what_fits_one_by_one(found: tuple[Fleet, list[Movable]], request) -> None:
    """As many replicas as the measure says find a place, one after the other; unlike devices are counted as a bound."""
    pool, _ = found
    measured = measure(pool, [Work(request, 1, 1, "t1", "g1")])
    (line,) = measured.lines
    assert measured.free == pool.counts().free_share_bp
    assert 0 <= line.usable <= measured.free
    assert measured.stranded == measured.free - line.usable
    if request.asks or not request.devices or len(request.memory_mib) > 1 or request.devices > 1:
        return
    placed = 0
    for key in range(200):
        job = make.job(request, key=1_000 + key)
        outcome = try_place(pool, job, QUIET)
        if not isinstance(outcome, Placed):
            break
        pool.apply(outcome, job.tenant, job.trust_group)
        placed += 1
    assert placed == line.fits
