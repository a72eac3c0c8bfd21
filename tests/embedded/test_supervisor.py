"""The supervisor itself, over small real processes."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.processes import Run, alive, command_line, descendants, running, until
from tests.ports import free_port

pytestmark = pytest.mark.processes


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Run]:
    argv = [sys.executable, "-m", "tests.embedded.small_up", str(tmp_path), str(free_port())]
    with running(argv, WEIR_HOME=str(tmp_path), REDIS_URL="") as run:
        run.wait_for("Weir is ready")
        until(lambda: work_of(tmp_path), "all processes of the plan run")
        yield run
        kill_work(tmp_path)


def kill_work(home: Path) -> None:
    for pid in work_of(home):
        os.kill(pid, signal.SIGKILL)


def work_of(home: Path) -> list[int]:
    everyone = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in everyone if f"the-work {home} " in command_line(pid) and alive(pid)]


def control_plane(run: Run) -> set[int]:
    return {pid for pid in descendants(run.pid) if "the-work /" not in command_line(pid)}


def test_prints_the_link_and_hides_it_from_the_log(small: Run, tmp_path: Path) -> None:
    assert small.said("/signin/once/")
    log = (tmp_path / "log" / "prepare.log").read_text()
    assert "an ordinary line" in log
    assert "signin" not in log


@pytest.mark.parametrize("name", ["valkey-server", "http.server", "sleeper"])
def test_a_killed_child_is_started_again(small: Run, name: str) -> None:
    before = small.child(name)
    os.kill(before, signal.SIGKILL)
    after = until(lambda: (pid := small.child(name)) != before and pid, f"{name} runs again")
    assert alive(after)
    small.wait_for("(signal SIGKILL); starting it again in 0.1 s")


def test_ctrl_c_ends_all_in_order_and_leaves_the_work(small: Run, tmp_path: Path) -> None:
    small.wait_for("stubborn  | WARNING deaf")  # before that it would end like any other
    ours = control_plane(small)
    assert len(ours) >= 5
    assert small.end(signal.SIGINT) == 0
    assert not [pid for pid in ours if alive(pid)]
    assert len(work_of(tmp_path)) == 1
    assert small.said("stubborn did not stop within 0.3 s; killed")


def test_kill_9_of_the_supervisor_leaves_no_orphan_and_leaves_the_work(small: Run, tmp_path: Path) -> None:
    ours = control_plane(small)
    small.end(signal.SIGKILL)
    until(lambda: not [pid for pid in ours if alive(pid)], "every child of the control plane is gone")
    assert len(work_of(tmp_path)) == 1


def test_trouble_of_a_child_is_shown_with_its_name(small: Run) -> None:
    small.wait_for("stubborn  | WARNING deaf")


def test_a_second_supervisor_on_the_same_folder_says_so(small: Run, tmp_path: Path) -> None:
    argv = [sys.executable, str(Path("manage.py")), "up", "--port", str(free_port())]
    with running(argv, WEIR_HOME=str(tmp_path)) as second:
        assert second.popen.wait(120) == 6
        second.end()  # its last line has been read
        assert [line for line in second.lines if line] == [
            f"weir: Weir is already running on {tmp_path} (process {small.pid}); "
            "stop it first or set WEIR_HOME to another folder."
        ]
