"""The shim alone: what it leaves on disk, whom it ends, and that it needs nobody."""

import json
import os
import signal
import socket

import pytest

from pool.agent import boottime, capped, records, shim
from tests.agent.shims import ended, is_alive, launch, lease, until


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", -15), ("kill -SEGV $$", -11)]
)
def test_records_how_the_command_ended(tmp_path, script, code):
    before = boottime.now_us()
    assert launch(tmp_path, script).returncode == 0
    record = ended(tmp_path)
    assert (record["exit_code"], record["cause"]) == (code, "exit")
    assert record["boot_id"] == boottime.boot_id()
    assert before < records.read(tmp_path / "started.json")["at_us"] <= record["at_us"] <= boottime.now_us()


def test_command_that_cannot_be_run(tmp_path):
    launch(tmp_path, "", argv=["./nowhere"])
    record = ended(tmp_path)
    assert (record["exit_code"], record["cause"]) == (127, "start_failed")
    assert "./nowhere" in record["detail"]


def test_output_of_both_streams_is_kept_to_the_last_byte(tmp_path):
    launch(tmp_path, "head -c 300000 /dev/zero | tr '\\0' x; printf end >&2")
    ended(tmp_path)
    assert capped.read(tmp_path / "out", "stdout", 0, 1 << 20) == (0, b"x" * 300_000)
    assert capped.read(tmp_path / "out", "stderr", 0, 100) == (0, b"end")


def test_what_the_command_leaves_behind_ends_with_it(tmp_path):
    launch(tmp_path, "setsid sleep 1000 & echo $! > child; sleep 0.2; exit 0")
    ended(tmp_path)
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_ends_by_itself_when_nobody_renews_the_lease(tmp_path):
    lease(tmp_path / "lease.json", 0.5)
    launch(tmp_path / "r", "trap '' TERM; sleep 1000 & echo $! > child; wait", lease=str(tmp_path / "lease.json"))
    record = ended(tmp_path / "r")
    assert record["cause"] == "lease"
    assert not is_alive(records.read(tmp_path / "r/started.json")["pid"])
    assert not is_alive(int((tmp_path / "r/child").read_text()))


def test_a_renewed_lease_lets_it_go_on(tmp_path):
    lease(tmp_path / "lease.json", 3)
    first = records.read(tmp_path / "lease.json")["until_us"]
    launch(tmp_path / "r", "while [ ! -e stop ]; do sleep 0.05; done; exit 4", lease=str(tmp_path / "lease.json"))
    lease(tmp_path / "lease.json", 3600)
    until(lambda: boottime.now_us() > first + 1_200_000, "the first lease is over, and two looks of the shim at it")
    assert records.read(tmp_path / "r/exit.json") is None
    (tmp_path / "r/stop").touch()
    assert ended(tmp_path / "r")["exit_code"] == 4


def test_a_lease_of_another_boot_is_no_lease_of_ours(tmp_path):
    records.write(tmp_path / "lease.json", {"boot_id": "another", "until_us": 1})
    launch(tmp_path / "r", "sleep 0.8; exit 0", lease=str(tmp_path / "lease.json"))
    assert ended(tmp_path / "r")["cause"] == "exit"


def test_a_second_shim_of_the_same_replica_starts_nothing(tmp_path):
    launch(tmp_path, "echo once >> ran; sleep 0.3")
    assert launch(tmp_path, "echo twice >> ran").returncode != 0
    ended(tmp_path)
    assert launch(tmp_path, "echo again >> ran").returncode != 0
    assert (tmp_path / "ran").read_text() == "once\n"


def test_killing_the_shim_kills_the_command(tmp_path):
    launch(tmp_path, "sleep 1000")
    started = records.read(tmp_path / "started.json")
    os.kill(started["shim"], signal.SIGKILL)
    until(lambda: not is_alive(started["pid"]), "the command ends with its shim")


def test_stop_gives_the_command_its_grace(tmp_path):
    launch(tmp_path, "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done")
    with shim.address(tmp_path) as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(json.dumps({"do": "nonsense"}).encode() + b"\nbroken\n")
        client.sendall(json.dumps({"do": "stop", "grace_s": 10, "reason": "cancel"}).encode() + b"\n")
        record = ended(tmp_path)
    assert (record["cause"], record["detail"], record["exit_code"]) == ("stop", "cancel", 0)
    assert capped.read(tmp_path / "out", "stdout", 0, 100)[1] == b"bye\n"


def test_listeners_hear_the_end(tmp_path):
    launch(tmp_path, "while [ ! -e go ]; do sleep 0.01; done; exit 0")
    with shim.address(tmp_path) as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.settimeout(120)
        (tmp_path / "go").touch()
        text = b""
        while data := client.recv(4096):
            text += data
    last = json.loads(text.splitlines()[-1])
    assert last["event"] == "exited"


def test_a_deep_folder_is_no_problem_for_the_socket(tmp_path):
    deep = tmp_path.joinpath(*["a-folder-with-a-long-name"] * 6)
    assert launch(deep, "exit 0").returncode == 0
    assert ended(deep)["exit_code"] == 0
