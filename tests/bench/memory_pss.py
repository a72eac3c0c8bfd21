"""Memory of all processes of `manage.py up` without the demo, and how soon the console answers.

PSS (proportional set size, /proc/*/smaps_rollup) counts a page that N processes share as 1/N in each, so that the sum
is what the machine really gives. Reference: at most 600 MB together, an answer within 10 s (medians of `RUNS`).
"""

import http.client
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.embedded.processes import Run, command_line, descendants, until, up
from tests.ports import free_port

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SETTLE = 10.0  # seconds after the last process has started, so that imports and first sweeps are counted
MB_REFERENCE, SECONDS_REFERENCE = 600, 10


def pss_mb(pid: int) -> float:
    """Megabytes (10^6 bytes) of one process; 0 for one that is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next(int(line.split()[1]) * 1024 / 1e6 for line in text.splitlines() if line.startswith("Pss:"))


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/accounts/login/")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def measure(folder: Path) -> tuple[float, dict[str, float]]:
    port = free_port()
    started = time.monotonic()
    with up(folder, "--port", str(port), WEIR_GATEWAY_PORT=str(free_port())) as run:
        until(lambda: answers(port), f"the console answers: {run.lines}", 60)
        seconds = time.monotonic() - started
        until(lambda: "celery" in " ".join(map(command_line, descendants(run.pid))), "the workers start", 60)
        time.sleep(SETTLE)
        sizes = {name(run, pid): pss_mb(pid) for pid in {run.pid, *descendants(run.pid)}}
        run.end()
    return seconds, sizes


def name(run: Run, pid: int) -> str:
    if pid == run.pid:
        return "supervisor"
    line = command_line(pid)
    known = {
        "valkey-server": "valkey",
        "console.embedded.web": "web",
        "manage.py gateway": "gateway",
        "manage.py scheduler": "scheduler",
        "worker@": "worker",
        "console beat": "beat",
        "pool.agent": "agent",
    }
    return next((label for part, label in known.items() if part in line), line[:40] or str(pid))


def main() -> None:
    results = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
            results.append(measure(Path(folder)))
    seconds = statistics.median(result[0] for result in results)
    totals = [sum(result[1].values()) for result in results]
    print(f"{'process':<12} PSS MB (median of {RUNS})")
    for label in sorted({label for _, sizes in results for label in sizes}):
        print(f"{label:<12} {statistics.median(sizes.get(label, 0.0) for _, sizes in results):6.1f}")
    report("together", "MB", statistics.median(totals), MB_REFERENCE)
    report("first answer", "s", seconds, SECONDS_REFERENCE)


def report(what: str, unit: str, value: float, reference: float) -> None:
    print(f"{what:<12} {value:6.1f} {unit:<2} reference: at most {reference}, ratio {value / reference:.2f}")


if __name__ == "__main__":
    main()
