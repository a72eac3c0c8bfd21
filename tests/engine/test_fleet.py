"""The fleet's books: what is refused, what is undone, what happens to nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pool.engine import Fleet, Hold, Oversold, Placed, Refused, ReplicaRequest, decide
from tests.engine import make


def hold(device: int | None, share: int = 2_500, memory: int = 1_000, how: str = "vgpu", **more: object) -> Hold:
    values: dict[str, object] = {
        "device_key": device,
        "node_key": 1,
        "share_bp": share,
        "memory_mib": memory,
        "isolation": how,
        "mig_profile": "",
        "mig_start": -1,
        "mig_size": 0,
        "tenant": "t1",
        "trust_group": "g1",
        "cpu_milli": 0,
        "host_memory_mib": 0,
    }
    return Hold(**(values | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (hold(100, share=7_501), "bp"),
        (hold(100, memory=23_577), "MiB"),
        (hold(100, how="exclusive"), "other use"),
        (hold(100, how="mig", mig_profile="1g.5gb", mig_start=0, mig_size=1), "MIG mode"),
        (hold(100, trust_group="g2"), "trust group"),
        (hold(100, tenant="t2", trust_group=""), "trust group"),
        (hold(None, share=0, memory=0, how="", cpu_milli=64_001), "CPU"),
        (hold(None, share=0, memory=0, how="", host_memory_mib=262_145), "MiB"),
    ],
)
def test_nothing_is_held_twice(second: Hold, reason: str) -> None:
    fleet = Fleet.build(make.nodes(1, 1), [hold(100)])
    before = fleet.snapshot_id
    with pytest.raises(Oversold, match=reason):
        fleet.take(second)
    assert fleet.snapshot_id == before


def test_overlapping_slices_are_refused() -> None:
    first = hold(100, 1_428, 4_864, "mig", mig_profile="2g.10gb", mig_start=4, mig_size=2)
    fleet = Fleet.build([make.node(1, make.a100(100))], [first])
    with pytest.raises(Oversold, match="slices"):
        fleet.take(hold(100, 1_428, 100, "mig", mig_profile="1g.5gb", mig_start=5, mig_size=1))


def test_tenants_of_one_group_share_and_a_tenant_alone_does_not() -> None:
    fleet = Fleet.build(make.nodes(1, 1), [hold(100)])
    third = ReplicaRequest(1, 2_500)
    assert isinstance(decide(fleet, make.job(third, tenant="t2", trust_group="g1")), Placed)
    refused = decide(fleet, make.job(third, tenant="t2", trust_group="g2"))
    assert isinstance(refused, Refused)
    assert [f.filter for f in refused.failed] == ["trust"]


def test_release_gives_everything_back_and_trust_ends_with_the_last_hold() -> None:
    fleet = Fleet.build(make.nodes(1, 1))
    empty = fleet.snapshot_id
    parts = [hold(100), hold(100), hold(None, share=0, memory=0, how="", cpu_milli=9, host_memory_mib=9)]
    for part in parts:
        fleet.take(part)
    assert fleet.release(parts[0])
    with pytest.raises(Oversold):
        fleet.take(hold(100, trust_group="g2"))
    for part in parts[1:]:
        assert fleet.release(part)
    assert fleet.snapshot_id == empty
    with pytest.raises(ValueError, match="nothing is held"):
        fleet.release(parts[0])


def test_a_decision_that_came_too_late_holds_nothing() -> None:
    fleet = Fleet.build(make.nodes(2, 1))
    pair = decide(fleet, make.job(ReplicaRequest(1), replicas=2))
    assert isinstance(pair, Placed)
    fleet.take(hold(200, 10_000, 24_576, "exclusive", node_key=2))
    before = fleet.snapshot_id
    with pytest.raises(Oversold):
        fleet.apply(pair, "t1", "g1")
    assert fleet.snapshot_id == before


def test_contradicting_holds_from_outside_close_the_card_until_it_is_empty() -> None:
    holds = [hold(100), hold(100, trust_group="g2")]
    fleet = Fleet.build(make.nodes(1, 1), holds)
    small = make.job(ReplicaRequest(1, 100))
    assert isinstance(decide(fleet, small), Refused)
    for part in holds:
        fleet.release(part)
    assert isinstance(decide(fleet, small), Placed)


def test_replacing_a_node_takes_its_new_description_and_holds() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    whole = make.job(ReplicaRequest(2))
    decide(fleet, whole)  # so that a score vector exists
    closed = replace(make.nodes(1, 2)[0], schedulable=False)
    fleet.replace_node(closed)
    placed = decide(fleet, whole)
    assert isinstance(placed, Placed)
    assert placed.replicas[0].node_key == 2
    fleet.replace_node(make.nodes(2, 2)[1], [hold(200, node_key=2)])
    refused = decide(fleet, whole)
    assert isinstance(refused, Refused)
    assert {f.filter: f.devices for f in refused.failed} == {"schedulable": 2, "share": 1, "node_devices": 1}


def test_nodes_come_and_go() -> None:
    fleet = Fleet.build(make.nodes(3, 2))
    wide = make.node(9, *(make.card(900 + i, "new model") for i in range(5)))
    fleet.replace_node(wide)
    assert isinstance(decide(fleet, make.job(ReplicaRequest(5))), Placed)
    fleet.remove_node(9)
    fleet.remove_node(2)
    assert fleet.snapshot_id == Fleet.build([n for n in make.nodes(3, 2) if n.key != 2]).snapshot_id
    assert fleet.counts().devices == 4
    assert not fleet.release(hold(900, node_key=9))
    assert isinstance(decide(fleet, make.job(ReplicaRequest(5))), Refused)
    with pytest.raises(KeyError):
        fleet.remove_node(9)


@pytest.mark.parametrize(
    ("node", "holds", "message"),
    [
        (make.node(1, make.card(200)), [], "belong to another node"),
        (make.node(1, make.card(100), make.card(100)), [], "twice"),
        (make.node(1, make.card(100)), [hold(777)], "is not on node"),
        (make.node(1, make.card(100)), [hold(100, how="shared")], "isolation"),
    ],
)
def test_a_bad_node_changes_nothing(node: object, holds: list[Hold], message: str) -> None:
    fleet = Fleet.build(make.nodes(2, 1))
    before = fleet.snapshot_id
    with pytest.raises(ValueError, match=message):
        fleet.replace_node(node, holds)  # type: ignore[arg-type]
    assert fleet.snapshot_id == before


def test_counts() -> None:
    fleet = Fleet.build([*make.nodes(1, 2), make.node(2, make.a100(200), schedulable=False)], [hold(100)])
    counts = fleet.counts()
    assert (counts.nodes, counts.devices, counts.open_devices, counts.idle, counts.vgpu) == (2, 3, 2, 1, 1)
    assert (counts.share_bp, counts.free_share_bp) == (20_000, 17_500)
    assert (counts.memory_mib, counts.free_memory_mib) == (49_152, 48_152)


def test_draining_the_largest_node_changes_what_the_others_are_measured_by() -> None:
    """Kept scores equal those of a fleet built anew, after each change of hardware."""
    nodes = [make.node(1, *(make.card(100 + i) for i in range(8))), *make.nodes(4, 2)[1:]]
    fleet = Fleet.build(nodes, [hold(200, 5_000, 12_288, node_key=2)])
    jobs = [make.job(ReplicaRequest(1)), make.job(ReplicaRequest(1, 2_500)), make.job(ReplicaRequest(2))]
    for changed in (replace(nodes[0], schedulable=False), make.node(3, make.card(300), cpu=1_000), nodes[0]):
        for job in jobs:
            decide(fleet, job)
        fleet.replace_node(changed)
        fresh = Fleet.build(list(fleet.nodes), [hold(200, 5_000, 12_288, node_key=2)])
        for job in jobs:
            assert decide(fleet, job) == decide(fresh, job)


def test_new_holds_on_the_same_hardware_keep_what_is_known_of_the_hardware() -> None:
    fleet = Fleet.build(make.nodes(2, 2))
    before = fleet.hardware
    fleet.replace_node(make.nodes(2, 2)[1], [hold(200, node_key=2)])
    assert fleet.hardware == before
    assert fleet.counts().vgpu == 1
    fleet.replace_node(replace(make.nodes(2, 2)[1], cpu_milli=1))
    assert fleet.hardware == before + 1
