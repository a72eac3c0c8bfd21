"""The small parts: back-off, rotated logs, options, socket paths, the terminal's voice."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from console.embedded import guests, options, probes, valkey
from console.embedded.child import Child, describe
from console.embedded.logs import RotatingLog
from console.embedded.process import Process
from console.embedded.spec import Backoff, Spec
from console.embedded.voice import BURST, Voice
from tests.ports import free_port


def test_backoff_doubles_to_a_ceiling_and_starts_again_after_calm() -> None:
    backoff = Backoff(first=0.1, longest=1.0, calm=20)
    assert [backoff.after(0) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert backoff.after(25) == 0.1
    assert backoff.after(0) == 0.2


def test_log_rotates_by_size_and_keeps_few(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "web.log", limit=100, keep=2)
    for number in range(40):
        assert log.write(b"%09d\n" % number)
    log.close()
    assert {path.name for path in tmp_path.iterdir()} == {"web.log", "web.log.1", "web.log.2"}
    kept = b"".join((tmp_path / name).read_bytes() for name in ("web.log.2", "web.log.1", "web.log"))
    assert kept == b"".join(b"%09d\n" % number for number in range(10, 40))


def test_a_full_disk_drops_lines_and_raises_nothing() -> None:
    log = RotatingLog(Path("/dev/full"))
    assert log.write(b"lost\n") is False


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("localhost", "http://localhost:8000"),
        ("127.0.0.1", "http://localhost:8000"),
        ("0.0.0.0", "http://localhost:8000"),
        ("::1", "http://localhost:8000"),
        ("weir.example", "http://weir.example:8000"),
    ],
)
def test_the_printed_address_suits_passkeys(host: str, url: str) -> None:
    assert options.parse(["--host", host]).url == url


@pytest.mark.parametrize(
    "words",
    [
        ["--port", "0"],
        ["--port", "65536"],
        ["--port", "-1"],
        ["--port", "８０"],
        ["--port", "nan"],
        ["--demo-devices", "7"],
        ["--demo-devices", "24"],
        ["--demo-devices", "1e9"],
        ["--frobnicate"],
    ],
)
def test_bad_options_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        options.parse(words)
    assert end.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_a_long_folder_gets_a_short_private_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)
    path = valkey.socket_path(deep)
    assert len(os.fsencode(path)) <= valkey.LONGEST_SOCKET_PATH
    assert path == valkey.socket_path(deep)
    assert path != valkey.socket_path(tmp_path / ("y" * 200))
    assert valkey.socket_path(Path("/data/weir")) == Path("/data/weir/valkey.sock")


def test_the_voice_shows_trouble_only_and_not_without_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    voice = Voice(verbose=False, logs=tmp_path)
    voice.heard("web", '{"event": "request", "level": "info", "error": "IncompleteReadError: ERROR"}')
    voice.heard("web", "INFO all is well, no errors")
    for _ in range(50):
        voice.heard("web", '{"event": "boom", "level": "error"}')
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == BURST
    assert lines[-1] == f"web       | ... more in {tmp_path}/web.log"
    Voice(verbose=True, logs=tmp_path).heard("web", "anything")
    assert capsys.readouterr().out == "web       | anything\n"


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exit code 0"), (3, "exit code 3"), (-9, "signal SIGKILL"), (-99, "signal 99")]
)
def test_describe(code: int, words: str) -> None:
    assert describe(code) == words


async def test_a_process_that_stops_answering_is_killed_and_started_again(tmp_path: Path) -> None:
    port = free_port()
    spec = Spec(
        "web",
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path)],
        stage=0,
        probe=_impatient(port),
        watched=True,
        probe_every=0.05,
    )
    child = Child(spec, tmp_path, Voice(verbose=False, logs=tmp_path))
    keeper = asyncio.create_task(child.keep())
    assert await child.ready(120)
    assert child.process
    first = child.process
    os.kill(first.pid, signal.SIGSTOP)  # alive, but deaf
    async with asyncio.timeout(120):
        assert await first.ended == -signal.SIGKILL
        while child.process is first:
            await asyncio.sleep(0.01)
    assert await child.ready(120)
    await child.stop()
    await keeper


def _impatient(port: int) -> probes.Probe:
    patient = probes.http("127.0.0.1", port, "/")

    async def ask() -> bool:
        try:
            async with asyncio.timeout(0.5):
                return await patient()
        except TimeoutError:
            return False

    return ask


async def test_a_program_that_cannot_start_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    child = Child(Spec("ghost", [str(tmp_path / "no-such-program")], 0), tmp_path, Voice(False, tmp_path))
    keeper = asyncio.create_task(child.keep())
    async with asyncio.timeout(120):
        while "0.2 s" not in capsys.readouterr().out:
            await asyncio.sleep(0.02)
    await child.stop()
    await keeper


async def test_a_process_steps_back_as_far_as_it_is_told() -> None:
    said: list[bytes] = []
    code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
    process = Process([sys.executable, "-c", code], os.environ, said.append, nice=7)
    assert await process.ended == 0
    assert said == [b"%d" % min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)]


def test_what_simulates_other_machines_steps_back_and_the_agent_of_this_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "site.token").write_text("x")
    found = guests.specs(options.parse(["--demo", "--agent"]), {}, {}, stage=4)
    assert {spec.name: spec.nice for spec in found} == {"agent": 0, "fleet-site": 10, "load": 10}
