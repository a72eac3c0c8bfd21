"""kill -9 of every process in turn under load, Valkey flushed, the supervisor killed: I1 to I3 and I7 hold."""

import os
import signal
from pathlib import Path

import pytest

from tests.chaos.pool import Pool, load, pool
from tests.embedded.processes import alive, until, up

pytestmark = pytest.mark.processes

LONG = os.environ.get("WEIR_CHAOS") == "long"
ROUNDS, RATE = (5, 8.0) if LONG else (1, 3.0)
IN_TURN = ["scheduler", "worker", "gateway", "agent", "valkey", "web", "beat"]


def more_submissions(weir: Pool, count: int) -> None:
    goal = weir.submissions() + count
    until(lambda: weir.submissions() >= goal, f"{goal} submissions are acknowledged", 300)


def settles(weir: Pool) -> None:
    found: list[str] = []

    def nothing_left() -> bool:
        found[:] = weir.violations(settled=True)
        return not found

    try:
        until(nothing_left, "everything comes to its end", 300)
    except AssertionError as error:
        raise AssertionError(f"{error}: {found}") from None


def test_every_process_killed_in_turn(tmp_path: Path, database_url: str) -> None:
    home, folder = tmp_path / "home", tmp_path / "load"
    folder.mkdir()
    with pool(home, folder, database_url) as weir:
        with load(weir, seed=42, rate=RATE):
            until(weir.forever, "the first real process runs")
            lasting = weir.forever()
            for name in IN_TURN * ROUNDS:
                more_submissions(weir, int(RATE))
                weir.kill(name)
                assert weir.violations() == [], f"after kill -9 of {name}"
            more_submissions(weir, int(RATE))
            weir.flush()
            more_submissions(weir, int(RATE))
            assert weir.violations() == [], "after FLUSHALL"
        settles(weir)
        assert alive(lasting), "real work was touched"
        the_supervisor_is_killed(weir, lasting)


def the_supervisor_is_killed(weir: Pool, lasting: int) -> None:
    """The work lives on without any control plane, and the next one adopts it rather than starting it again."""
    weir.run.end(signal.SIGKILL)
    assert alive(lasting)
    env = {key: value for key, value in weir.env.items() if key != "WEIR_HOME"}
    with up(weir.home, "--agent", "--port", str(weir.port), **env) as again:
        again.wait_for("Weir is ready")
        weir.run = again
        until(lambda: weir.pid("agent"), "the agent runs again")
        settles(weir)
        assert weir.forever() == lasting
        assert (weir.folder / "ran").read_text().count("\n") == len(set((weir.folder / "ran").read_text().split()))
