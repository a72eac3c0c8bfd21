"""`make test` and .ci/run: a lane that failed, or that was asked for and did not run, is a failure of the whole."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import lanes
from tests.repo.files import ROOT


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def said() -> dict[str, list[str]]:
    """What pytest was told in each lane, by DATABASE_URL."""
    return {}


@pytest.fixture
def codes(said: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What pytest answers in each lane, by DATABASE_URL; filled by the test."""
    answers: dict[str, int] = {}

    def command(name: str, words: list[str], url: str, apart: bool = False, first_seed: int = 0) -> lanes.Lane:
        said[url] = [*words, f"seeds from {first_seed}"]
        process = lanes.subprocess.Popen([sys.executable, "-c", f"raise SystemExit({answers[url]})"])
        return lanes.Lane(name, process, None, 0.0)

    monkeypatch.setattr(lanes, "start", command)
    return answers


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["lanes", *words])
    return lanes.main()


def test_without_a_server_ci_fails_and_a_person_is_told(
    codes: dict[str, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lanes.postgres, "binaries", lambda: None)
    codes[""] = 0
    assert run(monkeypatch, "--require-postgres", "--together") == 2
    assert run(monkeypatch) == 0
    assert capsys.readouterr().out.count("PostgreSQL lane: not run, no server here") == 2


@pytest.mark.parametrize("together", [(), ("--together",)])
@pytest.mark.parametrize(("sqlite", "other"), [(0, 0), (1, 0), (0, 1), (5, 0), (0, 5), (1, 1)])
def test_one_lane_that_fails_fails_all(
    codes: dict[str, int], monkeypatch: pytest.MonkeyPatch, sqlite: int, other: int, together: tuple[str, ...]
) -> None:
    """5: nothing was collected, so the lane did not run."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://here/x")
    codes.update({"": sqlite, "postgresql://here/x": other})
    assert (run(monkeypatch, *together) == 0) == (sqlite == other == 0)


@pytest.mark.parametrize("together", [(), ("--together",)])
def test_what_touches_no_database_is_left_out_of_one_lane_only(
    codes: dict[str, int], said: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, together: tuple[str, ...]
) -> None:
    url = "postgresql://here/x"
    monkeypatch.setenv("DATABASE_URL", url)
    codes.update({"": 0, url: 0})
    assert run(monkeypatch, *together) == 0
    left_out = {name for name, words in said.items() if any("not plain" in word for word in words)}
    assert left_out == ({""} if together else {url})
    assert not any("browser" in word for word in said[""])
    assert {name for name, words in said.items() if "seeds from 0" in words} == ({url} if together else {"", url})


def test_ci_asks_for_both_lanes_and_stops_at_the_first_step_that_fails() -> None:
    text = (Path(ROOT) / ".ci" / "run").read_text()
    assert "set -Eeuo pipefail" in text
    lines = text.splitlines()
    lanes_at = next(number for number, line in enumerate(lines) if line.startswith("make ") and " test " in line)
    assert "--require-postgres" in lines[lanes_at]
    # after that, only the other Pythons' word is waited for, and counts
    assert lines[lanes_at + 1 :] == ['step="other Pythons"', 'wait "$others"']
