"""Runs shims directly, without an agent."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from pool.agent import boottime, records

ROOT = Path(__file__).resolve().parents[2]


def launch(folder: Path, script: str, **more) -> subprocess.CompletedProcess:
    folder.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ["PATH"], "WEIR_REPLICA": f"test-{folder.name}-{os.getpid()}"}
    spec = {"argv": ["bash", "-c", script], "env": env, "cwd": str(folder), "grace_s": 5, **more}
    (folder / "spec.json").write_text(json.dumps(spec))
    words = [sys.executable, "-S", "-E", "-m", "pool.agent.shim", str(folder)]
    # a file, not a pipe: the shim that goes on would keep a pipe open
    with open(folder / "shim.err", "ab") as errors:
        return subprocess.run(words, cwd=ROOT, stderr=errors, timeout=120, start_new_session=True, check=False)


def until(probe, what, seconds=120.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited {seconds} s for: {what}")


def ended(folder: Path) -> dict:
    return until(lambda: records.read(folder / "exit.json"), f"{folder}/exit.json")


def lease(path: Path, seconds: float) -> None:
    until_us = boottime.now_us() + int(seconds * 1e6)
    records.write(path, {"boot_id": boottime.boot_id(), "until_us": until_us})


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
