"""Job row to durable allocation, and HTTP request to durable allocation, on the running product.

Starts `manage.py up` in a folder of its own with 10,240 simulated devices that send telemetry, 20 browsers on the
heatmap and 20 submissions a second over HTTP. An observer with a database session of its own, which sees only what
is committed, stamps each job and each placement when it appears. Then 1,000 jobs queue while their queue is held,
and it is timed from the release of the queue until the last is placed durably.

    python -m tests.bench.placement_latency [--seconds 60] [--rounds 5] [--nodes 1280] [--rate 20] [--browsers 20]

DATABASE_URL decides the database, as for the product.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.bench.cpu import core_ms, cpu_seconds
from tests.bench.placement_observer import Observer

ROOT = Path(__file__).resolve().parents[2]
GENERATED = "nodes={nodes},devices=8,model=H100-80GB,prefix=bench"


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")


class Stack:
    """The product, started as its user does, with ports of its own."""

    def __init__(self, home: Path, nodes: int) -> None:
        self.home, self.nodes = home, nodes
        self.port, self.gateway = 18_000 + os.getpid() % 1000, 19_000 + os.getpid() % 1000
        self.env = {
            **os.environ,
            "WEIR_HOME": str(home),
            "WEIR_PORT": str(self.port),
            "WEIR_GATEWAY_PORT": str(self.gateway),
            "WEIR_API_RATE": "100000/min",
        }
        self.children: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def manage(self, *words: str, code: str = "") -> str:
        argv = [sys.executable, str(ROOT / "manage.py"), *words]
        return subprocess.run(
            argv, env=self.env, cwd=ROOT, check=True, capture_output=True, text=True, input=code or None
        ).stdout

    def start(self) -> None:
        log = (self.home / "up.log").open("wb")
        self._spawn([str(ROOT / "manage.py"), "up", "--no-agent"], log)
        wait_for(lambda: answers(self.url + "/healthz"), 120)
        facts = json.loads(self.manage("shell", "-v", "0", "-c", PREPARE).strip().splitlines()[-1])
        self.token, self.queue = facts["token"], facts["queue"]
        log = (self.home / "fleet.log").open("wb")
        generated = GENERATED.format(nodes=self.nodes)
        words = ["-m", "pool.agent.fleet", "--server", f"127.0.0.1:{self.gateway}", "--token", facts["join"]]
        # nodes are other machines: as in the demo, what simulates them steps back
        self._spawn([*words, "--generate", generated, "--log-level", "ERROR"], log, nice=10)

    def _spawn(self, words: list[str], log: Any, nice: int = 0) -> None:
        argv = ["nice", "-n", str(nice), sys.executable, *words]
        self.children.append(subprocess.Popen(argv, env=self.env, cwd=ROOT, stdout=log, stderr=log))

    def stop(self) -> None:
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            child.wait(60)


PREPARE = """
import json
from datetime import timedelta
from console.common.actor import system
from console.tenants.models import Tenant, Project, User, Membership
from console.tenants import services as tenants
from console.tenants.queries import actor_for_user
from pool.inventory.models import Site
from pool.nodes import services as nodes
from pool.scheduling.models import Queue
site, _ = Site.objects.get_or_create(name="bench")
_, join = nodes.create_join_token(system("bench"), site, uses=5000, valid=timedelta(days=1))
tenant, _ = Tenant.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
Project.objects.get_or_create(tenant=tenant, slug="default", defaults={"name": "default"})
queue, _ = Queue.objects.get_or_create(tenant=tenant, name="default")
user, _ = User.objects.get_or_create(username="bench", email="bench@example.test", platform_role="operator")
Membership.objects.get_or_create(user=user, tenant=tenant, role="member")
scopes = ["jobs:read", "jobs:write", "fleet:read"]
_, secret = tenants.create_token(actor_for_user(user), name="bench", scopes=scopes, days=1)
print(json.dumps({"join": join, "token": secret, "queue": queue.public_id}))
"""


def wait_for(ready: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"not ready after {seconds} s")
        time.sleep(0.1)


def answers(url: str) -> bool:
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


class Client:
    """One keep-alive connection."""

    def __init__(self, stack: Stack) -> None:
        import http.client

        self.connection = http.client.HTTPConnection("localhost", stack.port, timeout=30)
        self.token = stack.token

    def submit(self, name: str, spec: dict[str, Any]) -> int:
        body = json.dumps({"name": name, "tenant": "bench", "command": ["x"], **spec})
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Idempotency-Key": f"bench-{name}",
        }
        self.connection.request("POST", "/api/v1/jobs", body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"submit answered {answer.status}: {text[:300]!r}")
        return answer.status


SHAPES = (
    {"gpus": 1, "gpu_fraction": 0.25},
    {"gpus": 1},
    {"gpus": 1, "gpu_fraction": 0.5, "cpu_milli": 4000},
    {"gpus": 2},
    {"gpus": 1, "gpu_fraction": 0.1},
)


def load(stack: Stack, observer: Observer, rate: float, seconds: float, prefix: str) -> dict[str, float]:
    """`rate` submissions a second from four connections; when each was sent."""
    sent: dict[str, float] = {}
    clients = [Client(stack) for _ in range(4)]
    start = time.perf_counter()

    def work(number: int) -> None:
        for index in range(number, int(rate * seconds), len(clients)):
            time.sleep(max(0.0, start + index / rate - time.perf_counter()))
            name = f"{prefix}-{index}"
            sent[name] = time.perf_counter()
            observer.expect(name)
            spec = {**SHAPES[index % len(SHAPES)], "environment": {"WEIR_SIM_SECONDS": "30"}}
            clients[number].submit(name, spec)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sent


def browse(stack: Stack, count: int, stop: threading.Event) -> list[int]:
    """`count` websocket clients on the heatmap; how many frames each has had."""
    from websockets.sync.client import connect

    frames = [0] * count

    def watch(number: int) -> None:
        headers = {"Authorization": f"Bearer {stack.token}"}
        with connect(f"ws://localhost:{stack.port}/ws/token/heatmap/", additional_headers=headers) as socket:
            while not stop.is_set():
                try:
                    socket.recv(timeout=1)
                    frames[number] += 1
                except TimeoutError:
                    continue

    for number in range(count):
        threading.Thread(target=watch, args=(number,), daemon=True).start()
    return frames


def release_thousand(stack: Stack, observer: Observer, bulk: str, count: int = 1000) -> float:
    """Seconds from the release of a held queue until `count` jobs are placed durably."""
    from console.common.actor import system
    from pool.scheduling import services
    from pool.scheduling.models import Queue

    queue = Queue.objects.get(public_id=stack.queue)
    services.set_queue_state(system("bench"), queue, Queue.State.HELD)
    time.sleep(1)
    spec = {"tenant": "bench", "command": ["x"], "gpus": 1, "environment": {"WEIR_SIM_SECONDS": "5"}}
    for index in range(count):
        services.submit_job(system("bench"), {**spec, "name": f"{bulk}-{index}", **SHAPES[index % len(SHAPES)]})
    time.sleep(2.5)
    placed = [name for name in list(observer.placed) if name.startswith(bulk)]
    if placed:
        raise SystemExit(f"{len(placed)} jobs started from a held queue")
    for index in range(count):
        observer.expect(f"{bulk}-{index}")
    before, released = cpu_seconds(), time.perf_counter()
    services.set_queue_state(system("bench"), queue, Queue.State.OPEN)
    wait_for(lambda: sum(name.startswith(bulk) for name in list(observer.placed)) >= count, 60)
    times = [at for name, at in observer.placed.items() if name.startswith(bulk)]
    spent = {name: 1e3 * (used - before.get(name, 0.0)) for name, used in cpu_seconds().items()}
    print(f"  first placed {min(times) - released:6.3f} s after the release, last {max(times) - released:6.3f} s")
    print("  ms of CPU until then: " + ", ".join(f"{name} {ms:.0f}" for name, ms in sorted(spent.items())))
    return max(times) - released


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=1280)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--browsers", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        stack = Stack(Path(folder), given.nodes)
        os.environ.update(stack.env)
        os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
        stop = threading.Event()
        try:
            stack.start()
            import django

            django.setup()
            measure(stack, given, stop)
        finally:
            stop.set()
            stack.stop()


def settle() -> None:
    """What autovacuum does within a minute of a fleet's arrival: plans are those of its empty tables until then."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE inventory_node, inventory_device, nodes_agent")


def measure(stack: Stack, given: argparse.Namespace, stop: threading.Event) -> None:
    from django.db import connection

    from pool.inventory.models import Node

    wait_for(lambda: Node.objects.filter(reachable=True).count() == given.nodes, 180)
    frames = browse(stack, given.browsers, stop)
    observer = Observer()
    observer.start()
    observer.ready.wait(10)
    settle()
    run = os.getpid()  # a database may hold jobs of an earlier run
    load(stack, observer, 5, 3, f"{run}-warm")
    print(f"{connection.vendor}, {given.nodes * 8} devices with telemetry, {given.browsers} browsers", flush=True)
    rounds = [one_round(stack, given, observer, f"{run}-{number}") for number in range(given.rounds)]
    print(f"frames a browser {min(frames)} to {max(frames)}; medians of {given.rounds}:")
    for name, most in TARGETS.items():
        print(f"  {name:20} {statistics.median(figures[name] for figures in rounds):7.1f} ms (at most {most})")
    observer.stopping = True


TARGETS = {
    "row to durable p50": 8,
    "row to durable p99": 20,
    "HTTP to durable p50": 20,
    "HTTP to durable p99": 50,
    "1,000 queued jobs": 1000,
}


def one_round(stack: Stack, given: argparse.Namespace, observer: Observer, run: str) -> dict[str, float]:
    """Milliseconds by the names of TARGETS; printed with what the processes took, and how fast a core was then."""
    speed = core_ms()
    before, began = cpu_seconds(), time.perf_counter()
    sent = load(stack, observer, given.rate, given.seconds, f"{run}-load")
    after, loaded = cpu_seconds(), time.perf_counter() - began
    wait_for(lambda: all(name in observer.placed for name in sent), 30)
    row = [1e3 * (observer.placed[name] - observer.jobs[name]) for name in sent]
    http = [1e3 * (observer.placed[name] - sent[name]) for name in sent]
    values = [percentile(found, part) for found in (row, http) for part in (0.5, 0.99)]
    rest()
    values.append(1e3 * release_thousand(stack, observer, f"{run}-bulk"))
    figures = dict(zip(TARGETS, values, strict=True))
    shares = {name: 100 * (spent - before.get(name, 0.0)) / loaded for name, spent in after.items()}
    print("  ".join(f"{name} {value:.1f}" for name, value in figures.items()))
    print("  % of a core: " + ", ".join(f"{name} {share:.0f}" for name, share in sorted(shares.items())))
    print(f"  a fixed piece of Python took {speed:.0f} and {core_ms():.0f} ms of CPU", flush=True)
    rest()
    return figures


def rest() -> None:
    """Until all that was submitted has ended, for it would share the cores with what is measured next."""
    from pool.scheduling.models import Job
    from pool.scheduling.queries import active_states

    wait_for(lambda: not Job.objects.filter(state__in=active_states()).exists(), 180)
    time.sleep(2)


if __name__ == "__main__":
    main()
