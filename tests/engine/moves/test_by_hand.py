"""Plans of moves on fleets small enough to see the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pool.engine import Fleet, JobRequest, Placed, Policy, Refused, ReplicaRequest, RoleRequest, decide
from pool.engine.moves import Movable, MovePlan, by_node, carry_out, plan_moves
from tests.engine import make

QUIET = Policy(explain=False)
PAIR = make.job(ReplicaRequest(2), key=99)


def put(fleet: Fleet, key: int, node: int, cards: Sequence[int], cost: int = 1, **request: object) -> Movable:
    """Work on exactly these cards: whole ones, or a share or MIG profile if the request says so."""
    others = [n for n in fleet.nodes if n.key != node]
    asked = ReplicaRequest(len(cards), **request)  # type: ignore[arg-type]
    job = make.job(asked, key=key)
    alone = Fleet.build([next(n for n in fleet.nodes if n.key == node)], mix=fleet.mix)
    assert len(others) + 1 == len(fleet.nodes)
    decision = decide(alone, job, QUIET)
    assert isinstance(decision, Placed)
    replica = decision.replicas[0]
    devices = tuple(replace(part, device_key=card) for part, card in zip(replica.devices, cards, strict=True))
    placed = replace(decision, replicas=(replace(replica, devices=devices),))
    return Movable(job, fleet.apply(placed, job.tenant, job.trust_group), cost)


def plan(fleet: Fleet, job: JobRequest, movables: Sequence[Movable], most: int = 8) -> MovePlan | None:
    assert isinstance(decide(fleet, job, QUIET), Refused)
    before = fleet.snapshot_id
    found = plan_moves(fleet, job, by_node(movables), QUIET, most)
    assert fleet.snapshot_id == before
    return found


def who(found: MovePlan | None) -> list[int]:
    assert found is not None
    return [move.movable.job.key for move in found.moves]


def test_one_small_job_makes_way_for_a_large_one() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    movables = [put(fleet, 1, 1, [100]), put(fleet, 2, 2, [200])]
    found = plan(fleet, PAIR, movables)
    assert found is not None
    assert (who(found), found.cost, found.placed.replicas[0].node_key, found.moves[0].to_node) == ([1], 1, 1, 2)
    carry_out(fleet, PAIR, found)
    assert fleet.counts().idle == 0


def test_the_cheaper_one_moves_whatever_order_they_are_given_in() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    movables = [put(fleet, 1, 1, [100], cost=9), put(fleet, 2, 2, [200], cost=4)]
    first, second = plan(fleet, PAIR, movables), plan(fleet, PAIR, movables[::-1])
    assert first == second
    assert who(first) == [2]


def test_two_cheap_moves_beat_one_dear_one() -> None:
    fleet = Fleet.build([make.node(1, *(make.card(100 + i) for i in range(4))), *make.nodes(3, 2)[1:]])
    dear = put(fleet, 1, 2, [200], cost=5)
    cheap = [put(fleet, 10 + i, 1, [100 + i], cost=1 + (i > 1) * 9) for i in range(4)]
    one = put(fleet, 3, 3, [300], cost=9)
    found = plan(fleet, PAIR, [dear, one, *cheap])
    assert (who(found), found and found.cost) == ([10, 11], 2)


def test_what_is_not_movable_stays() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    put(fleet, 1, 1, [100])
    second = put(fleet, 2, 2, [200])
    assert who(plan(fleet, PAIR, [second])) == [2]
    assert plan(fleet, PAIR, []) is None


def test_no_more_moves_than_allowed() -> None:
    fleet = Fleet.build([*make.nodes(1, 4), *make.nodes(5, 1)[1:]])
    movables = [put(fleet, 1 + i, 1, [100 + i]) for i in range(4)]
    four = make.job(ReplicaRequest(4))
    assert plan(fleet, four, movables, most=3) is None
    assert len(who(plan(fleet, four, movables, most=4))) == 4


def test_no_dearer_than_allowed() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    movables = by_node([put(fleet, 1, 1, [100], cost=9), put(fleet, 2, 2, [200], cost=4)])
    assert plan_moves(fleet, PAIR, movables, QUIET, most_cost=3) is None
    assert who(plan_moves(fleet, PAIR, movables, QUIET, most_cost=4)) == [2]


def test_nobody_is_moved_who_has_no_other_place() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    large = put(fleet, 1, 1, [100], memory_mib=(24_576,), models=frozenset({"A"}))
    full = [put(fleet, 2, 2, [200]), put(fleet, 3, 2, [201])]
    assert plan(fleet, PAIR, [large, *full]) is None


def test_a_job_on_two_cards_counts_once() -> None:
    fleet = Fleet.build([make.node(1, *(make.card(100 + i) for i in range(4))), *make.nodes(4, 2)[1:]])
    both = put(fleet, 1, 1, [100, 101])
    movables = [both, put(fleet, 2, 2, [200]), put(fleet, 3, 3, [300])]
    four = make.job(ReplicaRequest(4))
    found = plan(fleet, four, movables)
    assert (who(found), found and found.moves[0].to_node) == ([1], 4)


def test_sharers_leave_only_as_far_as_needed() -> None:
    """A half is asked of a card of which three quarters and a bit are held; one quarter suffices."""
    fleet = Fleet.build(make.nodes(2, 1))
    movables = [put(fleet, key, 1, [100], share_bp=2_500) for key in (1, 2, 3)]
    other = put(fleet, 4, 2, [200], share_bp=6_000)
    found = plan(fleet, make.job(ReplicaRequest(1, 5_000)), [*movables, other])
    assert (who(found), found and found.moves[0].to_node) == ([1], 2)


def test_strangers_leave_a_shared_card_altogether() -> None:
    fleet = Fleet.build(make.nodes(2, 1))
    movables = [put(fleet, key, 1, [100], share_bp=2_000) for key in (1, 2)]
    put(fleet, 3, 2, [200], share_bp=2_000)
    stranger = make.job(ReplicaRequest(1, 2_000), tenant="x", trust_group="x")
    assert who(plan(fleet, stranger, movables)) == [1, 2]


def test_cpu_is_freed_by_work_that_holds_no_card() -> None:
    fleet = Fleet.build(make.nodes(2, 1, memory=24_576))
    holder = Movable(
        make.job(ReplicaRequest(0, cpu_milli=60_000), key=1),
        fleet.apply(_on(fleet, ReplicaRequest(0, cpu_milli=60_000), 1), "t1", "g1"),
    )
    put(fleet, 2, 2, [200])
    found = plan(fleet, make.job(ReplicaRequest(1, cpu_milli=8_000)), [holder])
    assert (who(found), found and found.moves[0].to_node) == ([1], 2)


def _on(fleet: Fleet, request: ReplicaRequest, node: int) -> Placed:
    alone = Fleet.build([next(n for n in fleet.nodes if n.key == node)], mix=fleet.mix)
    decision = decide(alone, make.job(request, key=1), QUIET)
    assert isinstance(decision, Placed)
    return decision


def test_a_mig_instance_in_the_way_moves() -> None:
    fleet = Fleet.build([make.node(1, make.a100(100)), make.node(2, make.a100(200))])
    movables = []
    for key, node in ((1, 1), (2, 2)):
        decision = _on(fleet, ReplicaRequest(1, mig_profile="1g.5gb"), node)
        job = make.job(ReplicaRequest(1, mig_profile="1g.5gb"), key=key)
        movables.append(Movable(job, fleet.apply(decision, "t1", "g1")))
    found = plan(fleet, make.job(ReplicaRequest(1, mig_profile="7g.40gb")), movables)
    assert (who(found), found and found.moves[0].to_node) == ([1], 2)


def test_a_gang_clears_several_nodes() -> None:
    fleet = Fleet.build(make.nodes(4, 2))
    movables = [put(fleet, key, key, [100 * key]) for key in (1, 2, 3, 4)]
    gang = make.job(ReplicaRequest(2), replicas=2, key=99)
    found = plan(fleet, gang, movables)
    assert len(who(found)) == 2
    assert found is not None
    carry_out(fleet, gang, found)
    assert fleet.counts().idle == 0
    assert plan(fleet, gang, movables, most=1) is None


def test_a_job_that_fits_needs_no_moves() -> None:
    found = plan_moves(Fleet.build(make.nodes(1, 2)), PAIR, {}, QUIET)
    assert (who(found), found and found.cost) == ([], 0)


def test_a_stale_plan_is_refused_and_changes_nothing() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    movables = [put(fleet, 1, 1, [100]), put(fleet, 2, 2, [200])]
    found = plan(fleet, PAIR, movables)
    assert found is not None
    for hold in movables[1].holds:
        fleet.release(hold)
    before = fleet.snapshot_id
    with pytest.raises(ValueError, match=r"^snapshot_id: "):
        carry_out(fleet, PAIR, found)
    assert fleet.snapshot_id == before


@pytest.mark.parametrize(("change", "field"), [({"cost": 0}, "cost"), ({"holds": ()}, "holds"), ({"job": None}, "job")])
def test_what_cannot_move_is_refused(change: dict[str, object], field: str) -> None:
    fleet = Fleet.build(make.nodes(1, 2))
    good = put(fleet, 1, 1, [100])
    if field == "job":
        role = RoleRequest("w", ReplicaRequest(1), 2, 2)
        change = {"job": replace(good.job, roles=(role,))}
    with pytest.raises(ValueError, match=rf"^{field}: "):
        replace(good, **change)
