"""On random fleets and loads: plans can be carried out, break nothing, and miss no single move."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, Hold, NodeSpec, Placed, Policy, ReplicaRequest, decide
from pool.engine.moves import Movable, MovePlan, by_node, carry_out, plan_moves, taken_by
from tests.engine import make
from tests.engine.reference import violations
from tests.reference.examples import examples

QUIET = Policy(explain=False)
GROUP = {"t1": "g1", "t2": "g1", "t3": ""}


def trust_of(hold: Any) -> str:
    return str(hold.trust_group or hold.tenant)


def full(
    nodes: list[NodeSpec], palette: list[ReplicaRequest], picks: list[tuple[int, str]]
) -> tuple[Fleet, list[Movable]]:
    """A fleet with some work on it."""
    fleet, live = Fleet.build(nodes), []
    for key, (pick, tenant) in enumerate(picks, 1):
        job = make.job(palette[pick % len(palette)], key=key, tenant=tenant, trust_group=GROUP[tenant])
        decision = decide(fleet, job, QUIET)
        if isinstance(decision, Placed):
            live.append(Movable(job, fleet.apply(decision, tenant, GROUP[tenant]), cost=1 + key % 3))
    return fleet, live


def one_move(fleet: Fleet, job: Any, live: list[Movable]) -> int | None:
    """By trying each: the least cost of a single move that admits the job, of those with a place now."""
    costs = []
    for movable in live:
        if not isinstance(decide(fleet, movable.job, QUIET), Placed):
            continue
        for hold in movable.holds:
            fleet.release(hold)
        placed = decide(fleet, job, QUIET)
        if isinstance(placed, Placed):
            fleet.apply(placed, job.tenant, job.trust_group)
            if isinstance(decide(fleet, movable.job, QUIET), Placed):
                costs.append(movable.cost)
            fleet.undo(placed, job.tenant, job.trust_group)
        for hold in movable.holds:
            fleet.take(hold)
    return min(costs, default=None)


cases = {
    "nodes": make.fleets(),
    "palette": st.lists(make.requests(), min_size=2, max_size=4),
    "picks": st.lists(st.tuples(st.integers(0, 3), st.sampled_from(sorted(GROUP))), min_size=3, max_size=16),
    "asked": make.requests(),
}


def planned(fleet: Fleet, job: Any, live: list[Movable], most: int) -> MovePlan | None:
    """The plan, the same for every order in which the movables are given; nothing is changed."""
    before, shuffled = fleet.snapshot_id, random.Random(1).sample(live, len(live))
    plan = plan_moves(fleet, job, by_node(live), QUIET, most)
    assert plan == plan_moves(fleet, job, by_node(shuffled), QUIET, most)
    assert fleet.snapshot_id == before
    return plan


@settings(max_examples=examples(120), deadline=None, derandomize=True)
@given(**cases)
def test_a_plan_holds_and_nobody_is_lost(
    nodes: list[NodeSpec], palette: list[ReplicaRequest], picks: list[tuple[int, str]], asked: ReplicaRequest
) -> None:
    fleet, live = full(nodes, palette, picks)
    job = make.job(asked, key=1_000, tenant="t2", trust_group="g1")
    plan = planned(fleet, job, live, most=3)
    if plan is None:
        return
    assert len(plan.moves) <= 3
    assert plan.cost == sum(move.movable.cost for move in plan.moves)
    holds: list[Hold] = [*carry_out(fleet, job, plan)]
    moved = {move.movable.job.key: move for move in plan.moves}
    assert len(moved) == len(plan.moves)
    for movable in live:
        move = moved.get(movable.job.key)
        after = movable.holds if move is None else taken_by(movable.job, move.to)
        assert (set(after) != set(movable.holds)) == (move is not None)
        assert {hold.device_key is None for hold in after} == {hold.device_key is None for hold in movable.holds}
        holds += after
    assert violations(nodes, holds, trust_of) == []
    assert fleet.snapshot_id == Fleet.build(nodes, holds).snapshot_id


@settings(max_examples=examples(120), deadline=None, derandomize=True)
@given(**cases)
def test_the_cheapest_single_move_is_found(
    nodes: list[NodeSpec], palette: list[ReplicaRequest], picks: list[tuple[int, str]], asked: ReplicaRequest
) -> None:
    fleet, live = full(nodes, palette, picks)
    job = make.job(asked, key=1_000, tenant="t2", trust_group="g1")
    if isinstance(decide(fleet, job, QUIET), Placed):
        return
    least = one_move(fleet, job, live)
    plan = planned(fleet, job, live, most=1)
    assert (plan is None) == (least is None)
    assert plan is None or plan.cost == least
