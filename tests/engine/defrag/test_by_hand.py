"""Fragmentation and plans on pools small enough to check by eye."""

from __future__ import annotations

import pytest

from pool.engine import Fleet, Placed, Policy, ReplicaRequest, TypicalMix
from pool.engine.defrag import Budget, Work, measure, plan_sweep
from pool.engine.moves import Movable
from pool.engine.trying import try_place
from tests.engine import make

pytestmark = pytest.mark.plain
ONE, FOUR = ReplicaRequest(1), ReplicaRequest(4)
HALF = ReplicaRequest(1, 5_000)
QUIET = Policy(explain=False)


def fleet(nodes: int = 2, cards: int = 4, **more: object) -> Fleet:
    return Fleet.build(make.nodes(nodes, cards, **more))


def run(pool: Fleet, request: ReplicaRequest, key: int, cost: int = 1) -> Movable:
    job = make.job(request, key=key)
    placed = try_place(pool, job, QUIET)
    assert isinstance(placed, Placed)
    return Movable(job, pool.apply(placed, job.tenant, job.trust_group), cost)


def on_cards(pool: Fleet, *cards: int) -> list[Movable]:
    """A job on each of these whole cards, by device key."""
    found = []
    for number, card in enumerate(cards, 1):
        hold = make.whole(card // 100, card)
        pool.take(hold)
        found.append(Movable(make.job(ONE, key=number, tenant="t9", trust_group="g9"), (hold,), cost=number))
    return found


def test_an_empty_pool_has_none_and_a_full_one_too() -> None:
    pool = fleet()
    works = [Work(ONE, 1), Work(FOUR, 1)]
    found = measure(pool, works)
    assert (found.free, found.stranded, found.spread_bp) == (80_000, 0, 0)
    assert [line.fits for line in found.lines] == [8, 2]
    on_cards(pool, *(100 * node + card for node in (1, 2) for card in range(4)))
    found = measure(pool, works)
    assert (found.free, found.stranded, found.spread_bp, found.devices) == (0, 0, 0, 0)


def test_scattered_cards_are_of_use_to_small_work_only() -> None:
    pool = fleet()
    on_cards(pool, 100, 101, 200, 201)
    found = measure(pool, [Work(ONE, 1), Work(FOUR, 1)])
    assert [(line.usable, line.unusable) for line in found.lines] == [(40_000, 0), (0, 40_000)]
    assert (found.fragmentation_bp, found.spread_bp) == (0, 2_500)
    assert measure(pool, [Work(FOUR, 1)]).fragmentation_bp == 5_000
    assert measure(pool, [Work(FOUR, 1)]).devices == 4


def test_cards_without_cpu_on_their_node_are_stranded() -> None:
    pool = Fleet.build([make.node(1, *(make.card(100 + i) for i in range(4)), cpu=8_000)])
    needy = ReplicaRequest(1, cpu_milli=4_000)
    assert measure(pool, [Work(needy, 1)]).stranded == 20_000
    assert measure(pool, [Work(needy, 1), Work(ONE, 1)]).stranded == 0


def test_a_rest_too_small_for_any_share_is_stranded() -> None:
    pool = fleet(nodes=1, cards=1)
    run(pool, ReplicaRequest(1, 8_000), 1)
    assert measure(pool, [Work(HALF, 1)]).stranded == 2_000
    assert measure(pool, [Work(ReplicaRequest(1, 1_000), 1)]).stranded == 0


def test_slices_count_by_the_placement_table() -> None:
    pool = Fleet.build([make.node(1, make.a100(100))])
    small, large = (ReplicaRequest(1, mig_profile=name) for name in ("1g.5gb", "3g.20gb"))
    works = [Work(small, 1), Work(large, 1)]
    assert [line.unusable for line in measure(pool, works).lines] == [0, 0]
    for key in (1, 2):
        run(pool, small, key)
    (hold,) = (held for held in [run(pool, small, 3).holds[0]])
    before = measure(pool, works)
    assert [line.fits for line in before.lines] == [4, 1]
    assert hold.mig_start == 4


def test_two_small_jobs_make_room_for_a_large_one() -> None:
    pool = fleet()
    movables = on_cards(pool, 100, 101, 200, 201)
    sweep = plan_sweep(pool, [Work(ONE, 1), Work(FOUR, 1)], movables, Budget())
    assert (sweep.moves, len(sweep.steps), sweep.cost) == (2, 1, 3)
    assert (sweep.before.spread_bp, sweep.after.spread_bp) == (2_500, 0)
    (step,) = sweep.steps
    assert (step.work.request, step.freed, step.job) == (FOUR, 40_000, None)
    assert {move.movable.node_key for move in step.moves} == {1}  # the two that cost least
    assert {move.to_node for move in step.moves} == {2}
    assert pool.counts().free_share_bp == 40_000  # nothing has changed


def test_a_job_that_waits_goes_first_and_keeps_its_place() -> None:
    pool = fleet()
    movables = on_cards(pool, 100, 101, 200, 201)
    waiting = make.job(FOUR, key=99)
    sweep = plan_sweep(pool, [Work(ONE, 1)], movables, Budget(), [waiting])
    assert [(step.job, step.freed, len(step.moves)) for step in sweep.steps] == [(99, 40_000, 2)]
    assert sweep.after.free == 0


@pytest.mark.parametrize(
    "budget",
    [Budget(moves=1), Budget(cost=2), Budget(block=1), Budget(per_group=1)],
    ids=["moves", "cost", "block", "group"],
)
def test_what_the_budget_does_not_allow_is_not_planned(budget: Budget) -> None:
    pool = fleet()
    movables = on_cards(pool, 100, 101, 200, 201)
    groups = dict.fromkeys(range(1, 5), "queue")
    assert plan_sweep(pool, [Work(FOUR, 1)], movables, budget, groups=groups).steps == ()


def test_moves_that_help_nobody_on_the_whole_are_not_made() -> None:
    """Two cards of two nodes: one class has what it wants either way."""
    pool = fleet(nodes=2, cards=2)
    movables = on_cards(pool, 100, 200)
    assert plan_sweep(pool, [Work(ONE, 1)], movables, Budget()).steps == ()


def test_slices_move_so_that_a_large_one_fits() -> None:
    """One slice on each of two cards: together on one card, the other is whole again."""
    pool = Fleet.build([make.node(1, make.a100(100)), make.node(2, make.a100(200))])
    small, whole = ReplicaRequest(1, mig_profile="1g.5gb"), ReplicaRequest(1, mig_profile="7g.40gb")
    pool.set_mix(TypicalMix.observe([(small, 1.0), (whole, 1.0)], coverage=1.0))
    first = run(pool, small, 1)
    filler = [run(pool, small, key) for key in range(2, 8)]
    second = run(pool, small, 8)
    for movable in filler:
        pool.release(movable.holds[0])
    assert (first.node_key, second.node_key) == (1, 2)
    sweep = plan_sweep(pool, [Work(small, 1), Work(whole, 1)], [first, second], Budget())
    assert sweep.moves == 1
    assert [line.fits for line in sweep.before.lines] == [12, 0]
    assert [line.fits for line in sweep.after.lines] == [12, 1]
