"""The tie rule, written out case by case, and that history plays no part in it (I8)."""

from __future__ import annotations

import random

from pool.engine import DEFAULT, Fleet, Hold, Placed, Policy, ReplicaRequest, TypicalMix, decide
from pool.engine.types import ScoreParts
from tests.engine import make

QUIET = Policy(explain=False)


def winner(fleet: Fleet, request: ReplicaRequest) -> ScoreParts:
    decision = decide(fleet, make.job(request), QUIET)
    assert isinstance(decision, Placed)
    return decision.score


def cpu_hold(node: int, cpu: int) -> Hold:
    return Hold(None, node, 0, 0, "", "", -1, 0, "t", "g", cpu, 0)


def share_hold(node: int, device: int, share: int) -> Hold:
    return Hold(device, node, share, 24_576 * share // 10_000, "vgpu", "", -1, 0, "t1", "g1", 0, 0)


def test_equal_nodes_the_lowest_key() -> None:
    fleet = Fleet.build(list(reversed(make.nodes(5, 2))))
    assert winner(fleet, ReplicaRequest(1)).node_key == 1
    assert winner(fleet, ReplicaRequest(1)).device_keys == (100,)


def test_equal_buckets_the_fuller_node() -> None:
    fleet = Fleet.build(make.nodes(3, 4), [share_hold(2, 200, 9_999), share_hold(2, 201, 9_999)])
    fleet.set_mix(TypicalMix.observe([(ReplicaRequest(1), 1.0)]))
    won = winner(fleet, ReplicaRequest(1))
    assert (won.node_key, won.tie_rule) == (2, "free_gpu")


def test_less_fragmentation_beats_a_fuller_node() -> None:
    """The mix wants halves: a quarter goes beside a quarter, not onto a card with a half free."""
    fleet = Fleet.build(make.nodes(2, 1), [share_hold(1, 100, 5_000), share_hold(2, 200, 7_500)])
    fleet.set_mix(TypicalMix.observe([(ReplicaRequest(1, 5_000), 1.0)]))
    won = winner(fleet, ReplicaRequest(1, 2_500))
    assert won.node_key == 2
    assert won.fragmentation_change_bp == -2_500
    assert won.bucket == -3  # -3.125 buckets of 800, to the nearest


def test_a_change_of_half_a_bucket_rounds_up_and_zero_is_not_an_edge() -> None:
    fleet = Fleet.build(make.nodes(1, 1))
    fleet.set_mix(TypicalMix.observe([(ReplicaRequest(1, 100), 1.0)]))
    won = winner(fleet, ReplicaRequest(1, 400))
    assert (won.fragmentation_change_bp, won.bucket) == (0.0, 0)
    for change, bucket in ((399, 0), (400, 1), (-400, 0), (-401, -1)):
        assert (2 * change + 800) // 1_600 == bucket


def test_free_cpu_joins_the_tie_where_the_mix_is_short_of_cpu() -> None:
    """Node 1 has less GPU free, node 2 far less CPU: which is fuller depends on the mix."""
    holds = [share_hold(1, 100, 9_999), cpu_hold(2, 60_000)]
    fleet = Fleet.build(make.nodes(2, 4), holds)
    fleet.set_mix(TypicalMix.observe([(ReplicaRequest(1, cpu_milli=1), 1.0)]))
    easy = winner(fleet, ReplicaRequest(1))
    fleet.set_mix(TypicalMix.observe([(ReplicaRequest(1, cpu_milli=64_000), 1.0)]))
    tight = winner(fleet, ReplicaRequest(1))
    assert (easy.tie_rule, tight.tie_rule) == ("free_gpu", "free_gpu_and_cpu")
    assert (easy.node_key, tight.node_key) == (1, 2)


def test_a_partly_used_card_is_taken_before_a_whole_one_that_larger_work_wants() -> None:
    """Without what breaking a whole card costs, the quarter would go to a whole one."""
    fleet = Fleet.build(make.nodes(1, 3), [share_hold(1, 102, 5_000)])
    fleet.set_mix(TypicalMix.observe([(ReplicaRequest(2), 3.0), (ReplicaRequest(1, 5_000), 1.0)]))
    assert winner(fleet, ReplicaRequest(1, 2_500)).device_keys == (102,)


def test_runner_up_and_considered() -> None:
    fleet = Fleet.build(make.nodes(3, 1))
    decision = decide(fleet, make.job(ReplicaRequest(1)), DEFAULT)
    assert isinstance(decision, Placed)
    assert decision.considered == 3
    assert decision.runner_up is not None
    assert decision.runner_up.node_key == 2
    assert decision.score.node_key == 1


def test_history_does_not_matter() -> None:
    """Two fleets with the same content, reached by different ways, decide alike."""
    rng = random.Random(7)
    nodes = make.nodes(6, 4)
    straight = Fleet.build(nodes)
    wild = Fleet.build([])
    for node in rng.sample(nodes, len(nodes)):
        wild.replace_node(node)
    ghost = make.job(ReplicaRequest(1, 3_000), tenant="x", trust_group="other")
    passing = decide(wild, ghost, QUIET)
    assert isinstance(passing, Placed)
    wild.apply(passing, "x", "other")
    holds = [share_hold(n, 100 * n + c, 2_500) for n in range(1, 7) for c in range(n % 4)]
    for hold in holds:
        straight.take(hold)
    wild.undo(passing, "x", "other")
    for hold in rng.sample(holds, len(holds)):
        wild.take(hold)
    assert straight.snapshot_id == wild.snapshot_id
    for request in (ReplicaRequest(1), ReplicaRequest(1, 2_500), ReplicaRequest(4), ReplicaRequest(2, 1_000)):
        assert decide(straight, make.job(request)) == decide(wild, make.job(request))
    wild.take(share_hold(1, 103, 1))
    assert straight.snapshot_id != wild.snapshot_id
