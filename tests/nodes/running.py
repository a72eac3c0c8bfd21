"""A real gateway in a thread of the test, real agents as processes, and waiting on conditions with a deadline."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings

from console.common.actor import system
from pool.inventory.models import Site
from pool.nodes.gateway.server import Gateway
from pool.nodes.options import GatewayOptions
from pool.nodes.services import create_join_token
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")
# reports are frequent; a machine that is slow for a moment does not make its nodes stale, nor end their leases
FAST = {"report_s": 0.2, "stale_reports": 150, "lease_s": 120.0, "skew_s": 0.5}
PATIENCE_S = 120.0  # for what must come; only a failure takes as long


def wait_for(probe: Callable[[], T], what: str, seconds: float = PATIENCE_S) -> T:
    """The first true answer of `probe`; AssertionError after `seconds`."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)  # what is waited for needs the processor too
    raise AssertionError(f"waited {seconds} s for: {what}")


class GatewayThread:
    """A gateway on a free port of 127.0.0.1. `kill` drops all connections without a word, as a dead process does."""

    def __init__(self, **options: Any) -> None:
        values = {**FAST, **options}
        self.options = GatewayOptions(host="127.0.0.1", port=values.pop("port", 0) or free_port(), **values)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S), "the gateway did not start"
        if self._failed:
            raise self._failed

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.gateway.port}"

    def _run(self) -> None:
        async def serve() -> None:
            self.gateway = Gateway(self.options, settings.REDIS_URL, frames=False)
            self.loop = asyncio.get_running_loop()
            work = asyncio.create_task(self.gateway.run())
            ready = asyncio.create_task(self.gateway.ready.wait())
            await asyncio.wait({work, ready}, return_when=asyncio.FIRST_COMPLETED)
            self._ready.set()
            ready.cancel()
            await work

        try:
            asyncio.run(serve())
        except BaseException as error:
            self._failed = error
        finally:
            self._ready.set()

    def stop(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.gateway.stop)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the gateway did not stop"
        if self._failed:
            raise self._failed


@dataclass
class AgentProcess:
    """`python -m pool.agent` with a state folder of its own."""

    server: str
    token: str
    state: Path
    node: str = "gpu-1"
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> "AgentProcess":
        words = ["--server", self.server, "--token", self.token, "--node", self.node]
        words += ["--state-dir", str(self.state), *self.options]
        log = open(f"{self.state}.log", "ab")
        self.process = subprocess.Popen([sys.executable, "-m", "pool.agent", *words], cwd=ROOT, stdout=log, stderr=log)
        return self

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def log(self) -> str:
        return Path(f"{self.state}.log").read_text()


def new_token(site: str = "cn-sz-1", **more: Any) -> str:
    row, _ = Site.objects.get_or_create(name=site)
    return create_join_token(system("test"), row, **{"uses": 1000, **more})[1]


def processes_of(replica: str) -> list[int]:
    """Live processes of a replica, whatever their parent."""
    wanted = f"WEIR_REPLICA={replica}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
    return found


def kill_all_of(replicas: list[str]) -> None:
    """After a test: nothing of it may go on."""
    for replica in replicas:
        for pid in processes_of(replica):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def running(**options: Any) -> Iterator[GatewayThread]:
    gateway = GatewayThread(**options)
    try:
        yield gateway
    finally:
        gateway.stop()
