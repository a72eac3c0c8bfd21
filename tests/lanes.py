"""The whole suite on SQLite, then on PostgreSQL: `python -m tests.lanes [--require-postgres] [-- pytest words]`.

The last line of output is pytest's own summary of the last lane.
"""

import argparse
import os
import subprocess
import sys
import time

from tests import postgres


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--require-postgres", action="store_true", help="fail where no PostgreSQL lane can run")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    url, home = os.environ.get("DATABASE_URL", ""), postgres.binaries()
    if not url and home is None:
        print("PostgreSQL lane: not run, no server here (sudo apt-get install postgresql, or set DATABASE_URL)")
        if given.require_postgres:
            return 2
    failed = _lane("SQLite", given.words, {"DATABASE_URL": ""})
    if url:
        failed |= _lane("PostgreSQL from DATABASE_URL", given.words, {"DATABASE_URL": url})
    elif home is not None:
        with postgres.server(home) as own:
            failed |= _lane(f"PostgreSQL {postgres.version(home)}", given.words, {"DATABASE_URL": own})
    return failed


def _lane(name: str, words: list[str], env: dict[str, str]) -> int:
    print(f"\n===== lane: {name} =====", flush=True)
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *words], env={**os.environ, **env}, check=False)
    if done.returncode:
        print(f"===== lane {name}: FAILED after {time.monotonic() - started:.0f} s =====", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
