"""A job tells that it has saved its state, and is asked to before it is stopped."""

import asyncio
import json
import socket

from pool.agent import boottime, records, shim
from pool.agent.fleet_node import FleetNode
from pool.agent.host import Save
from pool.agent.simulated import SimulatedDriver, make_cards, make_devices
from tests.agent.shims import ended, launch, until
from tests.agent.test_machine import FACTS, machine, work
from tests.agent.test_machine import until as soon

LOOP = "touch ready; while :; do sleep 0.02; done"


def order(folder, **more):
    until((folder / "ready").exists, "its traps are set")
    with shim.address(folder) as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(json.dumps({"do": "stop", "grace_s": 5, "reason": "move", **more}).encode() + b"\n")
        return ended(folder)


def test_the_shim_notes_when_the_file_was_written_and_again_when_it_is_touched(tmp_path):
    mark = tmp_path / "saved"
    launch(tmp_path, "while [ ! -e stop ]; do sleep 0.02; done", checkpoint=str(mark))
    before = boottime.now_us()
    mark.touch()
    first = until(lambda: records.read(tmp_path / "checkpoint.json"), "the first checkpoint")
    assert (before <= first["at_us"] <= boottime.now_us(), first["boot_id"]) == (True, boottime.boot_id())
    mark.write_text("later")
    until(lambda: records.read(tmp_path / "checkpoint.json")["at_us"] > first["at_us"], "the second one")
    (tmp_path / "stop").touch()
    assert ended(tmp_path)["cause"] == "exit"


def test_asked_to_save_it_is_ended_once_it_has_and_not_before(tmp_path):
    traps = "trap 'sleep 0.3; touch saved; asked=1' USR1; trap 'echo ended ${asked:-unasked}; exit 0' TERM"
    launch(tmp_path, f"{traps}; {LOOP}", checkpoint=str(tmp_path / "saved"))
    record = order(tmp_path, signal="USR1", signal_s=100)
    assert (record["cause"], record["detail"]) == ("stop", "move")
    assert (tmp_path / "out" / "stdout.0").read_text() == "ended 1\n"
    assert records.read(tmp_path / "checkpoint.json")["at_us"] <= record["at_us"]


def test_who_never_tells_is_ended_when_the_time_is_over(tmp_path):
    launch(tmp_path, f"trap 'echo asked' USR1; {LOOP}", checkpoint=str(tmp_path / "saved"))
    asked = boottime.now_us()
    record = order(tmp_path, signal="USR1", signal_s=0.4)
    assert (record["cause"], record["exit_code"]) == ("stop", -15)
    assert record["at_us"] - asked >= 400_000
    assert (tmp_path / "out" / "stdout.0").read_text() == "asked\n"
    assert records.read(tmp_path / "checkpoint.json") is None


def test_a_stop_that_does_not_ask_goes_before_one_that_does(tmp_path):
    launch(tmp_path, f"trap '' USR1; {LOOP}", checkpoint=str(tmp_path / "saved"))
    until((tmp_path / "ready").exists, "its trap is set")
    with shim.address(tmp_path) as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        body = {"do": "stop", "grace_s": 5, "reason": "move", "signal": "USR1", "signal_s": 10_000}
        client.sendall(json.dumps(body).encode() + b"\n")
        record = order(tmp_path, reason="cancel")
    assert (record["cause"], record["detail"]) == ("stop", "cancel")


async def test_a_machine_tells_the_last_checkpoint_until_the_server_knows_it(tmp_path):
    async with machine(tmp_path) as host:
        script = 'touch "$WEIR_CHECKPOINT_FILE"; sleep 1000'
        await host.start("rep_1", work(script))
        await soon(host.checkpoints, "a checkpoint")
        (event,) = host.checkpoints()
        assert (event["type"], event["replica"]) == ("checkpoint", "rep_1")
        assert 0 <= event["age_us"] < 600_000_000
        host.saved("rep_1", event["number"] - 1)  # an older one
        assert len(host.checkpoints()) == 1
        host.saved("rep_1", event["number"])
        assert host.checkpoints() == []


async def test_what_was_saved_last_is_told_before_the_end(tmp_path):
    async with machine(tmp_path) as host:
        await host.start("rep_1", work(f"trap 'touch $WEIR_CHECKPOINT_FILE' USR1; {LOOP}"))
        await soon((tmp_path / "replicas/rep_1/home/ready").exists, "its trap is set")
        await host.stop("rep_1", 5, "move", Save("USR1", 100))
        await soon(lambda: [e for e in host.events() if e["type"] == "exited"], "the end")
        assert [event["type"] for event in host.events() if event["type"] != "started"] == ["checkpoint", "exited"]


async def test_a_simulated_replica_saves_by_the_clock_and_when_it_is_asked_to(monkeypatch):
    now = boottime.now_us()
    monkeypatch.setattr(boottime, "now_us", lambda: now)
    devices = make_devices("node", 1, "H100-80GB")
    node = FleetNode(FACTS, SimulatedDriver(devices, make_cards(devices)))
    plain = work("", environment={"WEIR_SIM_SECONDS": "3600"})
    await node.start("plain", plain)
    await node.start("saves", {**plain, "environment": {**plain["environment"], "WEIR_SIM_CHECKPOINT_S": "60"}})
    await soon(lambda: all(state == 2 for _, state in node.replicas()), "both run")
    assert node.checkpoints() == []
    began, now = now, now + 150_000_000
    assert [(event["replica"], event["age_us"], event["number"]) for event in node.checkpoints()] == [
        ("saves", 30_000_000, began + 120_000_000)
    ]
    node.saved("saves", began + 120_000_000)
    assert node.checkpoints() == []
    await node.stop("plain", 5, "move", Save("USR1", 60))
    assert [(event["replica"], event["age_us"]) for event in node.checkpoints()] == [("plain", 0)]
    await node.stop("saves", 5, "cancel")
    await asyncio.sleep(0)
    node.fence()
