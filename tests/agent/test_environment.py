"""The environment of a replica."""

from pool.agent.driver import Slice, slices
from pool.agent.environment import allowed, compose
from pool.agent.simulated import SimulatedDriver, make_cards, make_devices

WORK = {
    "job": "job_x",
    "replica": "rep_x",
    "environment": {},
    "rank": 1,
    "world_size": 2,
    "peers": [{"rank": 1, "node": "b", "address": "10.0.0.2"}, {"rank": 0, "node": "a", "address": "10.0.0.1"}],
}


def environment(parts, **work):
    devices = make_devices("node", 4, "H100-80GB")
    driver = SimulatedDriver(devices, make_cards(devices))
    return compose({**WORK, **work}, parts, [driver.visible(part) for part in parts], "/home"), devices


def test_whole_cards_are_named_by_uuid_in_their_order():
    env, devices = environment([Slice(2, 10_000, 81_559, "exclusive"), Slice(0, 10_000, 81_559, "exclusive")])
    assert env["CUDA_VISIBLE_DEVICES"] == f"{devices[2].uuid},{devices[0].uuid}"
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" not in env


def test_shares_never_sum_above_the_card():
    for share, percent in ((625, "6"), (100, "1"), (50, "1"), (3333, "33"), (9999, "99")):
        env, _ = environment([Slice(0, share, 4096, "vgpu"), Slice(1, 10_000, 2048, "vgpu")])
        assert env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == percent
        assert env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=4096M,1=2048M"


def test_a_mig_slice_is_named_by_its_place():
    env, devices = environment([Slice(1, 1428, 9728, "mig", "1g.10gb", 3, 1)])
    assert env["CUDA_VISIBLE_DEVICES"] == f"MIG-{devices[1].uuid}/3/0"


def test_no_device_means_none_is_visible():
    env, _ = environment([])
    assert (env["CUDA_VISIBLE_DEVICES"], env["NVIDIA_VISIBLE_DEVICES"]) == ("", "void")


def test_all_of_a_gang_find_rank_zero():
    one, _ = environment([], rank=0)
    two, _ = environment([], rank=1)
    assert one["MASTER_ADDR"] == two["MASTER_ADDR"] == "10.0.0.1"
    assert one["MASTER_PORT"] == two["MASTER_PORT"]
    assert 20_000 <= int(one["MASTER_PORT"]) < 32_000
    assert (one["RANK"], two["WEIR_RANK"], two["WORLD_SIZE"]) == ("0", "1", "2")
    assert one["WEIR_PEERS"] == "10.0.0.1,10.0.0.2"


def test_the_user_cannot_widen_the_slice_or_break_the_environment():
    asked = {
        "CUDA_VISIBLE_DEVICES": "all",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "100",
        "WEIR_REPLICA": "another",
        "RANK": "5",
        "NUL": "a\0b",
        "A\0B": "x",
        "A=B": "x",
        "": "x",
        "WEIR_SIM_SECONDS": 3,
        "PATH": "/mine",
        "中文": "好",
    }
    assert allowed(asked) == {"WEIR_SIM_SECONDS": "3", "PATH": "/mine", "中文": "好"}


def test_a_broken_device_list_is_named():
    import pytest

    with pytest.raises(ValueError, match=r"devices\[1\]"):
        slices([{"index": 0, "share_bp": 1, "memory_mib": 1, "isolation": "vgpu"}, {"index": 0}])
