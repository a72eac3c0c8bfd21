"""A whole control plane under load, to be killed in parts: started by `manage.py up`, judged by tests.chaos.verdict."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import redis

from console.embedded.management.commands.prepare import LOCAL_SITE
from console.embedded.valkey import socket_path
from tests.embedded.processes import ROOT, Run, alive, descendants, running, until, up
from tests.embedded.test_up import PROCESSES
from tests.ports import free_port

PARTS = {**PROCESSES, "agent": "-m pool.agent --server"}
NODES = 4


class Pool:
    """`home` holds the data folder, `folder` what the load writes down."""

    def __init__(self, home: Path, folder: Path, run: Run, env: dict[str, str], port: int) -> None:
        self.home, self.folder, self.run, self.env, self.port = home, folder, run, env, port

    def pid(self, name: str) -> int:
        return self.run.child(PARTS[name])

    def kill(self, name: str) -> None:
        """SIGKILL, and back again."""
        before = self.pid(name)
        assert before, f"{name} is not running"
        os.kill(before, signal.SIGKILL)
        until(lambda: self.pid(name) not in {0, before}, f"{name} is started again")

    def flush(self) -> None:
        with redis.Redis(unix_socket_path=str(socket_path(self.home))) as client:
            client.flushall()

    def violations(self, settled: bool = False) -> list[str]:
        words = [sys.executable, "-m", "tests.chaos.verdict", str(self.folder), *(["--settled"] if settled else [])]
        done = subprocess.run(
            words, cwd=ROOT, env={**os.environ, **self.env}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found: list[str] = json.loads(done.stdout)
        return found

    def submissions(self) -> int:
        path = self.folder / "acknowledged"
        return len(path.read_text().split()) if path.exists() else 0

    def forever(self) -> int:
        """The process that must live through everything; 0 while it has not started."""
        path = self.folder / "forever.pid"
        text = path.read_text().strip() if path.exists() else ""
        return int(text) if text and alive(int(text)) else 0


@contextlib.contextmanager
def pool(home: Path, folder: Path, database_url: str) -> Iterator[Pool]:
    """A control plane with one agent for real processes and `NODES` simulated nodes."""
    port, gateway = free_port(), free_port()
    env = {
        "WEIR_HOME": str(home),
        "DATABASE_URL": database_url,
        "REDIS_URL": "",
        "WEIR_GATEWAY_PORT": str(gateway),
        "WEIR_LOG_LEVEL": "WARNING",
        # a slow machine must not look like a control plane that is gone: another case tests the lease's end
        "WEIR_NODE_LEASE_SECONDS": "300",
    }
    words = ["--agent", "--port", str(port)]
    with up(home, *words, **{key: value for key, value in env.items() if key != "WEIR_HOME"}) as run:
        run.wait_for("Weir is ready")
        try:
            with _fleet(home, gateway, env):
                yield Pool(home, folder, run, env, port)
        finally:
            _end_work(home)


@contextlib.contextmanager
def load(weir: Pool, seed: int, rate: float) -> Iterator[Run]:
    """Jobs at `rate` a second until the block ends. Its output is checked: a submission must never fail."""
    with running([sys.executable, "-m", "tests.chaos.load", str(seed), str(rate), str(weir.folder)], **weir.env) as run:
        yield run
        assert run.popen.poll() is None, f"the load ended by itself: {run.lines[-20:]}"
        run.end(signal.SIGTERM)


@contextlib.contextmanager
def _fleet(home: Path, gateway: int, env: dict[str, str]) -> Iterator[None]:
    words = [sys.executable, "manage.py", "join_token", "--site", LOCAL_SITE, "--uses", str(NODES)]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    token = done.stdout.strip()
    words = [
        *(sys.executable, "-m", "pool.agent.fleet", "--server", f"127.0.0.1:{gateway}", "--log-level", "ERROR"),
        *("--generate", f"nodes={NODES},devices=8,model=H100-80GB", "--state", str(home / "fleet.json")),
    ]
    with running(words, WEIR_JOIN_TOKEN=token):
        yield


def _end_work(home: Path) -> None:
    """The work outlives the control plane by design; a test must not leave it behind."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _belongs(int(entry.name), home):
            for pid in {int(entry.name), *descendants(int(entry.name))}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _belongs(pid: int, home: Path) -> bool:
    with contextlib.suppress(OSError):
        return str(home / "agent").encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
