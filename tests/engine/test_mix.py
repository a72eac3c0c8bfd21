"""The typical mix and the fragmentation figures that follow from it."""

from __future__ import annotations

import pytest

from pool.engine import Fleet, Hold, ReplicaRequest, TypicalMix, fragmentation, stranded
from pool.engine.mix import SCALE
from tests.engine import make, openb

SAMPLE = (61, 314, 408)  # nodes, cards and tasks of the sample that the project carries


def share_hold(device: int, share: int, node: int = 1) -> Hold:
    return Hold(device, node, share, 24_576 * share // 10_000, "vgpu", "", -1, 0, "t", "g", 0, 0)


def test_the_commonest_requests_until_95_percent_are_covered() -> None:
    rare = [(ReplicaRequest(1, 100 + i), 1.0) for i in range(5)]
    mix = TypicalMix.observe([(ReplicaRequest(1), 80.0), (ReplicaRequest(8), 15.0), *rare])
    assert [request for request, _ in mix.classes] == [ReplicaRequest(1), ReplicaRequest(8)]
    assert sum(weight for _, weight in mix.classes) == SCALE
    assert mix.gpu_demand == pytest.approx((80 * 10_000 + 15 * 80_000 + sum(100 + i for i in range(5))) / 100)


def test_host_memory_makes_no_class_of_its_own_and_order_plays_no_part() -> None:
    observed = [(ReplicaRequest(1, host_memory_mib=i), 1.0) for i in range(9)] + [(ReplicaRequest(2), 9.0)]
    mix = TypicalMix.observe(observed)
    assert len(mix.classes) == 2
    assert mix == TypicalMix.observe(list(reversed(observed)))


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_weights_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"^weight: "):
        TypicalMix.observe([(ReplicaRequest(1), weight)])


def test_an_empty_mix_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^observed: "):
        TypicalMix.observe([])


def test_fragmentation_by_hand() -> None:
    """One card of two has a quarter free: useless to wholes, useful to quarters; half and half."""
    fleet = Fleet.build(make.nodes(1, 2), [share_hold(100, 7_500)])
    wholes, quarters = ReplicaRequest(1), ReplicaRequest(1, 2_500)
    assert fragmentation(fleet, TypicalMix.observe([(wholes, 1.0)])) == pytest.approx(0.125)
    assert fragmentation(fleet, TypicalMix.observe([(quarters, 1.0)])) == 0
    assert fragmentation(fleet, TypicalMix.observe([(wholes, 1.0), (quarters, 1.0)])) == pytest.approx(0.0625)
    pairs = TypicalMix.observe([(ReplicaRequest(2), 1.0)])
    assert fragmentation(fleet, pairs) == pytest.approx(0.625)  # all that is free
    cpu_only = TypicalMix.observe([(ReplicaRequest(0, cpu_milli=1), 1.0), (wholes, 1.0)])
    assert fragmentation(fleet, cpu_only) == pytest.approx(0.125)  # says nothing about GPUs


def test_cpu_models_and_slices_fragment_too() -> None:
    fleet = Fleet.build([make.node(1, make.a100(100), cpu=1_000)])
    assert fragmentation(fleet, TypicalMix.observe([(ReplicaRequest(1, cpu_milli=1_001), 1.0)])) == 1
    assert fragmentation(fleet, TypicalMix.observe([(ReplicaRequest(1, models=frozenset({"B"})), 1.0)])) == 1
    slices = TypicalMix.observe([(ReplicaRequest(1, mig_profile="3g.20gb"), 1.0)])
    assert fragmentation(fleet, slices) == pytest.approx(0.143)  # 2 x 4 285 of 10 000 are of use


def test_full_and_empty_pools_have_none() -> None:
    mix = TypicalMix.observe([(ReplicaRequest(1), 1.0)])
    assert fragmentation(Fleet.build([]), mix) == 0
    assert fragmentation(Fleet.build(make.nodes(2, 2)), mix) == 0
    full = [Hold(100 * n, n, 10_000, 24_576, "exclusive", "", -1, 0, "t", "g", 0, 0) for n in (1, 2)]
    assert fragmentation(Fleet.build(make.nodes(2, 1), full), mix) == 0


def test_stranded_counts_only_what_serves_no_request_at_all() -> None:
    mix = TypicalMix.observe([(ReplicaRequest(1), 1.0), (ReplicaRequest(1, 2_500), 1.0)])
    fleet = Fleet.build(make.nodes(1, 2), [share_hold(100, 8_100), share_hold(101, 5_000)])
    assert stranded(fleet, mix) == pytest.approx(0.095)
    assert stranded(fleet, TypicalMix.observe([(ReplicaRequest(2), 1.0)])) == pytest.approx(0.345)


def test_openb_is_read_whole() -> None:
    nodes, tasks = openb.nodes(), openb.requests()
    cards = sum(len(node.devices) for node in nodes)
    assert (len(nodes), cards, len(tasks)) in ((1_213, 6_212, 8_152), SAMPLE)
    assert openb.typical(tasks).gpu_demand > 0
