"""Simulated devices: believable, bounded, and following what runs."""

import numpy as np
import pytest

from pool.agent.driver import Slice
from pool.agent.fleet_spec import generate, load
from pool.agent.protocol import FLAG_FAULT, TELEMETRY
from pool.agent.simulated import Cards, SimulatedDriver, level_of, make_devices


class Time:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def driver(time):
    devices = make_devices("node", 4, "H100-80GB")
    cards = Cards([d.memory_mib for d in devices], [700] * 4, time)
    return SimulatedDriver(devices, cards)


def after(driver, time, seconds):
    for _ in range(int(seconds / 5)):
        time.now += 5
        driver.telemetry()
    return np.frombuffer(driver.telemetry(), TELEMETRY)


def test_idle_cards_are_cool_and_nearly_empty(driver, time):
    rows = after(driver, time, 300)
    assert (rows["util"] == 0).all()
    assert (rows["temp"] < 400).all()
    assert (rows["power"] == 70).all()
    assert (rows["memory"] < 500).all()


def test_telemetry_follows_what_runs_and_what_ended(driver, time):
    parts = [Slice(1, 10_000, 81_559, "exclusive"), Slice(2, 2_500, 8_192, "vgpu")]
    driver.attach("r", parts, {"WEIR_SIM_LEVEL": "0.9"})
    busy = after(driver, time, 300)
    assert 7_000 < busy["util"][1] <= 10_000
    assert 1_000 < busy["util"][2] < 3_500
    assert busy["util"][0] == busy["util"][3] == 0
    assert busy["temp"][1] > busy["temp"][2] > busy["temp"][0]
    assert busy["power"][1] > 400
    assert 60_000 < busy["memory"][1] < 81_559
    assert 6_000 < busy["memory"][2] < 8_800
    driver.detach("r")
    soon = after(driver, time, 5)
    assert soon["temp"][1] > 500  # it cools slowly
    later = after(driver, time, 600)
    assert later["temp"][1] < 400
    assert (later["util"] == 0).all()


def test_a_fault_is_flagged_and_ends(driver, time):
    driver.set_fault(2, True)
    rows = after(driver, time, 5)
    assert rows["flags"].tolist() == [0, 0, FLAG_FAULT, 0]
    assert rows["power"][2] == 0
    driver.set_fault(2, False)
    assert after(driver, time, 5)["flags"].sum() == 0


def test_levels_come_from_the_job_and_stay():
    assert level_of({"WEIR_JOB": "a"}) == level_of({"WEIR_JOB": "a"})
    assert 0.45 <= level_of({"WEIR_JOB": "a"}) <= 0.97
    assert level_of({"WEIR_SIM_LEVEL": "7"}) == 1.0
    assert level_of({"WEIR_SIM_LEVEL": "nonsense", "WEIR_JOB": "a"}) == level_of({"WEIR_JOB": "a"})


def test_device_identities_are_stable_and_unknown_models_are_named():
    assert make_devices("n", 2, "T4") == make_devices("n", 2, "T4")
    assert len({d.uuid for node in "abc" for d in make_devices(node, 8, "T4")}) == 24
    with pytest.raises(ValueError, match="H100-80GB"):
        make_devices("n", 1, "H900")


def test_fleets_are_generated_and_read(tmp_path):
    specs = generate("nodes=20,devices=4,model=T4,prefix=x,racks=8")
    assert [spec.name for spec in specs][:2] == ["x-0000", "x-0001"]
    assert {spec.facts["rack"] for spec in specs} == {"r00", "r01", "r02"}
    with pytest.raises(ValueError, match="colour"):
        generate("colour=blue")
    path = tmp_path / "nodes.json"
    path.write_text('[{"name": "a", "devices": [{"model": "T4", "uuid": "GPU-1"}, {"model": "X", "memory_mib": 5}]}]')
    (spec,) = load(path)
    first = spec.devices[0]
    assert (first.index, first.uuid, first.memory_mib) == (0, "GPU-1", 15109)
    assert spec.devices[1].memory_mib == 5
    path.write_text('[{"name": "a", "devices": [{"model": "X"}]}]')
    with pytest.raises(ValueError, match="a: device 0"):
        load(path)


def slot(start, size, profile, index=0):
    return Slice(index, 1_428, 9_984, "mig", profile, start, size)


def test_instances_are_made_with_the_work_and_free_slots_are_one_again(driver):
    driver.attach("a", [slot(0, 1, "1g.10gb")], {})
    driver.attach("b", [slot(4, 4, "3g.40gb")], {})
    assert driver.instances.of(0) == [("1g.10gb", 0, 1), ("3g.40gb", 4, 4)]
    with pytest.raises(ValueError, match="MIG slots 4 to 7 of device 0 are in use by b"):
        driver.attach("c", [slot(0, 8, "7g.80gb", index=1), slot(6, 1, "1g.10gb")], {})
    assert driver.instances.of(1) == []
    driver.attach("b", [slot(4, 4, "3g.40gb")], {})  # again is no change
    driver.detach("a")
    driver.detach("b")
    driver.attach("c", [slot(0, 8, "7g.80gb")], {})
    assert driver.instances.of(0) == [("7g.80gb", 0, 8)]
