"""The all-reduce estimate against figures worked out by hand, and its order among placements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pool.engine import Fleet, NodeSpec, Placed, ReplicaRequest, Step, communication
from pool.engine.links import fabric_gbs, links_of
from tests.engine import make as engine_make
from tests.engine.topology import make


def fleet_of(nodes: int, cards: int, fabric: str = "NDR200", island: int = 8, racks: int = 1) -> Fleet:
    h100 = {"model": "H100-80GB", "memory": 81_920}
    return Fleet.build(
        [
            NodeSpec(
                k, f"n{k}", "s", "p", "w", f"r{k * racks // (nodes + 1)}", 64_000, 262_144,
                tuple(engine_make.card(100 * k + n, **h100, nvlink_island=n // island) for n in range(cards)),
                fabric=fabric,
            )
            for k in range(1, nodes + 1)
        ]
    )  # fmt: skip


def test_eight_cards_inside_nvlink_and_one_on_each_of_eight_nodes() -> None:
    """7 B parameters in bf16, P = 8: 2 x 7/8 x 14 GB / 480 GB/s = 51 ms inside; / 25 GB/s = 0.98 s, 19 times that."""
    inside = make.placed(fleet_of(1, 8), make.gang(8)).neighbourhood
    outside = make.placed(fleet_of(8, 1), make.gang(8)).neighbourhood
    assert inside is not None
    assert outside is not None
    assert inside.all_reduce_us == pytest.approx(51_042, abs=100)
    assert outside.all_reduce_us == pytest.approx(980_000, abs=300)
    assert (inside.level, inside.widest, outside.level, outside.widest) == ("island", "island", "rack", "rack")
    assert inside.communication_bp == pytest.approx(10_000 * 0.05104 / 1.05104, abs=5)
    assert outside.communication_bp == pytest.approx(10_000 * 0.98 / 1.98, abs=5)


def test_every_card_brings_its_own_port() -> None:
    """Four nodes of eight cards with 400 Gb/s each: 8 x 50 GB/s between nodes, a bus bandwidth of 400."""
    found = make.placed(fleet_of(4, 8, "NDR400"), make.gang(32)).neighbourhood
    assert found is not None
    assert found.all_reduce_us == pytest.approx(2 * 31 / 32 * 14e9 / 400e3, rel=0.03)


def test_small_messages_go_by_the_tree_and_large_ones_by_the_ring() -> None:
    fleet = fleet_of(8, 8)
    for bytes_, algorithm in ((1_000, "tree"), (50_000_000_000, "ring")):
        found = make.placed(fleet, replace(make.gang(64), step=Step(bytes_))).neighbourhood
        assert found is not None
        assert found.algorithm == algorithm


def test_what_hides_behind_computing_does_not_count() -> None:
    fleet = fleet_of(1, 8)
    shares = []
    for overlap in (0, 5_000, 10_000):
        found = make.placed(fleet, replace(make.gang(8), step=Step(overlap_bp=overlap))).neighbourhood
        assert found is not None
        shares.append(found.communication_bp)
    assert shares[0] > shares[1] > shares[2] == 0


def test_wider_is_never_faster() -> None:
    """The same eight cards in one island, on two nodes of one rack, on eight, and over four racks."""
    times = []
    for fleet in (fleet_of(1, 8), fleet_of(2, 4), fleet_of(8, 1), fleet_of(8, 1, racks=4)):
        found = make.placed(fleet, make.gang(8)).neighbourhood
        assert found is not None
        times.append(found.all_reduce_us)
    assert times == sorted(times)
    pcie = make.placed(fleet_of(1, 8, island=2), make.gang(8)).neighbourhood
    assert pcie is not None
    assert (pcie.widest, pcie.level) == ("node", "node")
    assert pcie.all_reduce_us == pytest.approx(times[0] * 480 / 55, rel=0.01)


def test_one_device_alone_has_nothing_to_reduce() -> None:
    fleet = fleet_of(1, 8)
    single = make.placed(fleet, make.gang(1, 1, required_topology_level="node"))
    assert single.neighbourhood is not None
    assert single.neighbourhood.all_reduce_us == 0
    assert communication(fleet, single.replicas, Step()) is None
    eight = make.placed(fleet, engine_make.job(ReplicaRequest(8)))
    assert isinstance(eight, Placed)
    found = communication(fleet, eight.replicas, Step())
    assert found is not None
    assert found.devices == 8


@pytest.mark.parametrize(
    ("name", "speed"),
    [
        ("NDR400", 50.0),
        ("NDR200", 25.0),
        ("RoCE v2", 12.5),
        ("HDR", 25.0),
        ("", 12.5),
        ("RoCE 400G", 50.0),
        ("25GbE", 3.1),
    ],
)
def test_fabrics(name: str, speed: float) -> None:
    assert fabric_gbs(name) == speed


@pytest.mark.parametrize(
    ("model", "island"),
    [
        ("NVIDIA H100 80GB HBM3", 480),
        ("H100-80GB", 480),
        ("A100-SXM4-40GB", 300),
        ("GB200-186GB", 900),
        ("T4", 12),
        ("?", 50),
    ],
)
def test_links_of_models(model: str, island: float) -> None:
    assert links_of(model).island == island
