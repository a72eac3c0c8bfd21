"""The whole suite on SQLite and on PostgreSQL: `python -m tests.lanes [OPTIONS] [-- pytest words]`.

The last line of output is pytest's own summary of the last lane.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import IO

from tests import postgres

# what a browser shows is checked once, and on PostgreSQL again for the main job only: the pages behind it are tested
# on both databases without a browser
CORE_BROWSER = "not browser or browser_core"
# what touches no database (tests.conftest marks it) is tried once: where both lanes run at once, in the second, which
# has fewer browsers to wait for
ONCE = "not plain and not once"
SEEDS_APART = 8  # of the crash simulator: PostgreSQL tries these, SQLite the others up to 50


@dataclass
class Lane:
    """A running pytest. `output`: where its words are kept until they are shown; None: they go to the terminal."""

    name: str
    process: "subprocess.Popen[bytes]"
    output: IO[bytes] | None
    started: float


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server must not outlive us
    given = arguments()
    url, home = os.environ.get("DATABASE_URL", ""), postgres.binaries()
    if not url and home is None:
        print("PostgreSQL lane: not run, no server here (sudo apt-get install postgresql, or set DATABASE_URL)")
        return 2 if given.require_postgres else finish(start("SQLite", given.words, ""))
    if url:
        return both("PostgreSQL from DATABASE_URL", given, url)
    assert home is not None
    with postgres.server(home) as own:
        return both(f"PostgreSQL {postgres.version(home)}", given, own)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--require-postgres", action="store_true", help="fail where no PostgreSQL lane can run")
    parser.add_argument("--together", action="store_true", help="run both at once; the second one's words come last")
    parser.add_argument("words", nargs="*")
    return parser.parse_args()


def both(name: str, given: argparse.Namespace, url: str) -> int:
    if given.together:
        sqlite = start("SQLite", ["-m", ONCE, *given.words], "", first_seed=SEEDS_APART)
        other = start(name, ["-m", CORE_BROWSER, *given.words], url, apart=True)
        return finish(sqlite) | finish(other)
    sqlite = start("SQLite", given.words, "")
    return finish(sqlite) | finish(start(name, ["-m", f"({CORE_BROWSER}) and {ONCE}", *given.words], url))


def start(name: str, words: list[str], url: str, apart: bool = False, first_seed: int = 0) -> Lane:
    output = tempfile.TemporaryFile() if apart else None
    if not apart:
        print(f"\n===== lane: {name} =====", flush=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *words],
        env={**os.environ, "DATABASE_URL": url, "WEIR_SIM_FIRST": str(first_seed)},
        stdout=output,
        stderr=subprocess.STDOUT if apart else None,
    )
    return Lane(name, process, output, time.monotonic())


def finish(lane: Lane) -> int:
    """Waits for the lane, shows what it said apart, and returns its exit code."""
    code = lane.process.wait()
    if lane.output is not None:
        print(f"\n===== lane: {lane.name} =====", flush=True)
        lane.output.seek(0)
        sys.stdout.buffer.write(lane.output.read())
        sys.stdout.flush()
        lane.output.close()
    if code:
        print(f"===== lane {lane.name}: FAILED after {time.monotonic() - lane.started:.0f} s =====", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
