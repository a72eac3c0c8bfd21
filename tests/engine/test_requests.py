"""Requests that make no sense name the field; auto chooses the isolation that the design says."""

from __future__ import annotations

from typing import Any

import pytest

from pool.engine import DeviceSpec, Fleet, Placed, ReplicaRequest, RoleRequest, decide, family_for
from pool.engine.types import JobRequest, NodeSpec
from tests.engine import make


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"devices": -1}, "devices"),
        ({"devices": 1.0}, "devices"),
        ({"devices": True}, "devices"),
        ({"devices": 10**309}, "devices"),
        ({"devices": 1, "share_bp": 0}, "share_bp"),
        ({"devices": 1, "share_bp": 10_001}, "share_bp"),
        ({"devices": 1, "share_bp": float("nan")}, "share_bp"),
        ({"devices": 1, "share_bp": 5_000, "isolation": "exclusive"}, "share_bp"),
        ({"devices": 1, "memory_mib": (0,)}, "memory_mib"),
        ({"devices": 1, "memory_mib": (float("inf"),)}, "memory_mib"),
        ({"devices": 3, "memory_mib": (1, 2)}, "memory_mib"),
        ({"devices": 1, "isolation": "shared"}, "isolation"),
        ({"devices": 1, "isolation": "vgpu", "mig_profile": "1g.5gb"}, "mig_profile"),
        ({"devices": 1, "cpu_milli": -1}, "cpu_milli"),
        ({"devices": 1, "host_memory_mib": "5"}, "host_memory_mib"),
    ],
)
def test_bad_requests_name_the_field(values: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        ReplicaRequest(**values)


def test_bad_roles_jobs_and_hardware_name_the_field() -> None:
    request = ReplicaRequest(1)
    role = RoleRequest("w", request, 2, 1)
    for make_it, field in (
        (lambda: RoleRequest("w", request, 0, 0), "replicas"),
        (lambda: RoleRequest("w", request, 2, 3), "min_replicas"),
        (lambda: JobRequest(1, "t", "g", (), 0), "roles"),
        (lambda: JobRequest(1, "t", "g", (role, role), 2), "roles"),
        (lambda: JobRequest(1, "t", "g", (role,), 3), "min_member"),
        (lambda: DeviceSpec(1, 0, "A", 0), "device.memory_mib"),
        (lambda: NodeSpec(1, "n", "", "", "", "", -1, 0, ()), "node.cpu_milli"),
        (lambda: Fleet.build([make.node(1, *(make.card(i) for i in range(65)))]), "devices"),
    ):
        with pytest.raises(ValueError, match=f"^{field}: "):
            make_it()


def chosen(fleet: Fleet, **values: Any) -> tuple[str, str]:
    decision = decide(fleet, make.job(ReplicaRequest(**({"devices": 1} | values))))
    assert isinstance(decision, Placed)
    part = decision.replicas[0].devices[0]
    return part.isolation, part.mig_profile


def test_auto_isolation() -> None:
    mixed = Fleet.build([make.node(1, make.a100(100), make.card(101))])
    plain = Fleet.build(make.nodes(1, 1))
    assert chosen(mixed) == ("exclusive", "")
    assert chosen(mixed, share_bp=2_500) == ("vgpu", "")
    assert chosen(mixed, mig_profile="3g.20gb") == ("mig", "3g.20gb")
    mindful = {"bandwidth_sensitive": True}
    assert chosen(mixed, share_bp=1_000, **mindful) == ("mig", "1g.5gb")
    assert chosen(mixed, share_bp=1_500, **mindful) == ("mig", "2g.10gb")
    assert chosen(mixed, share_bp=1_000, memory_mib=(9_000,), **mindful) == ("mig", "1g.10gb")
    assert chosen(mixed, share_bp=5_000, **mindful) == ("mig", "4g.20gb")
    assert chosen(mixed, share_bp=8_000, **mindful) == ("mig", "7g.40gb")
    assert chosen(plain, share_bp=2_500, **mindful) == ("vgpu", "")  # nothing here can be cut


def test_memory_of_a_share_and_of_a_whole_card() -> None:
    fleet = Fleet.build(make.nodes(1, 1))
    for values, memory in (({}, 24_576), ({"share_bp": 625}, 1_536), ({"share_bp": 100, "memory_mib": (7,)}, 7)):
        decision = decide(fleet, make.job(ReplicaRequest(**({"devices": 1} | values))))  # type: ignore[arg-type]
        assert isinstance(decision, Placed)
        assert decision.replicas[0].devices[0].memory_mib == memory


def test_any_percent_and_a_sixteenth_fill_a_card_exactly() -> None:
    for share in (100, 625, 1_250, 700):
        fleet = Fleet.build(make.nodes(1, 1))
        job = make.job(ReplicaRequest(1, share))
        count = 0
        while isinstance(decision := decide(fleet, job), Placed):
            fleet.apply(decision, "t1", "g1")
            count += 1
        assert count == 10_000 // share


@pytest.mark.parametrize(
    ("model", "memory", "family"),
    [
        ("NVIDIA A100-SXM4-40GB", 40_960, "A100-40GB"),
        ("NVIDIA A100-SXM4-80GB", 81_920, "A100-80GB"),
        ("A100-80GB", 79_462, "A100-80GB"),
        ("NVIDIA H100 80GB HBM3", 81_559, "H100-80GB"),
        ("NVIDIA H100 NVL", 95_830, "H100-94GB"),
        ("NVIDIA H20", 97_871, "H100-96GB"),
        ("NVIDIA H200", 143_771, "H200-141GB"),
        ("NVIDIA GB200", 189_471, "GB200-186GB"),
        ("NVIDIA A30", 24_576, "A30-24GB"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97_887, "RTX-PRO-6000-96GB"),
        ("Tesla T4", 15_360, ""),
        ("NVIDIA A10", 23_028, ""),
        ("NVIDIA L40S", 46_068, ""),
    ],
)
def test_family_of_a_product_name(model: str, memory: int, family: str) -> None:
    assert family_for(model, memory) == family
