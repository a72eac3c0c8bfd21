"""What the ledger costs a placement: the same scheduler with it and without it, in turn, one job after another.

    python -m tests.bench.ledger_cost [--nodes 1280] [--jobs 300] [--batch 256]

DATABASE_URL decides the database; a test database is made in it and dropped again. Also: how long a chain's beginning
takes, how large it is, and how long a replay takes.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1280)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--batch", type=int, default=256)
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    from django.test.utils import setup_databases, teardown_databases

    made = setup_databases(0, False)
    try:
        measure(given)
    finally:
        teardown_databases(made, 0)


def measure(given: argparse.Namespace) -> None:
    from console.common import clock, lease
    from pool.scheduling import wake
    from pool.scheduling.ledger.journal import content_of
    from pool.scheduling.ledger.replay import replay
    from pool.scheduling.models import Decision, LedgerSegment
    from pool.scheduling.scheduler import Scheduler, lease_name
    from tests import factories

    wake.gateways = lambda nodes: None  # nobody listens here
    tenant = factories.make_tenant("bench")
    fill(given.nodes)
    epoch = lease.acquire(lease_name(), "bench", timedelta(hours=1), clock.now())
    assert epoch is not None
    scheduler = Scheduler(epoch)
    whole, content = timed(lambda: content_of(scheduler.mirror.fleet))
    print(f"beginning of a chain, {given.nodes * 8} devices: {whole:.1f} ms, {len(content[0]) / 1024:.0f} KiB")
    print(f"new reading of everything, with it: {timed(scheduler.resync)[0]:.0f} ms")
    ways: dict[str, list[tuple[float, float]]] = {"with": [], "without": []}
    for number in range(2 * given.jobs):
        way = "with" if number % 2 else "without"
        with ledger(scheduler, way == "with"):
            ways[way].append(place(scheduler, [job_of(tenant)]))
    tell("one job", ways)
    ways = {"with": [], "without": []}
    for number in range(10):
        way = "with" if number % 2 else "without"
        with ledger(scheduler, way == "with"):
            ways[way].append(place(scheduler, [job_of(tenant) for _ in range(given.batch)]))
    tell(f"{given.batch} jobs at once", ways)
    scheduler.resync()
    for _ in range(200):
        place(scheduler, [job_of(tenant)])
    last = Decision.objects.latest("pk")
    took, found = timed(lambda: replay(last.public_id))
    sizes = [len(text) for text in LedgerSegment.objects.order_by("-pk").values_list("ops", flat=True)[:100]]
    print(f"replay after 200 placements: {took:.0f} ms, {'the same' if found.same else 'IT DIFFERS'}")
    print(f"stored a placement: {statistics.median(sizes):.0f} bytes")


def fill(nodes: int) -> None:
    from pool.inventory.models import Device, Domain, Node
    from tests import factories

    site, kind = factories.make_site(), factories.make_model("H100-80GB")
    rack = Domain.objects.create(site=site, kind="rack", name="r01")
    facts: dict[str, Any] = {"site": site, "rack": rack, "reachable": True, "cpu_milli": 128_000, "memory_mib": 2**20}
    rows = Node.objects.bulk_create([Node(name=f"bench-{n:05d}", **facts) for n in range(nodes)])
    Device.objects.bulk_create(
        [
            Device(node=node, index=i, uuid=f"GPU-{node.name}-{i}", model=kind, memory_mib=kind.memory_mib)
            for node in rows
            for i in range(8)
        ],
        batch_size=500,
    )


def job_of(tenant: Any) -> int:
    from tests import factories

    return int(factories.make_job(tenant).pk)


def place(scheduler: Any, jobs: list[int]) -> tuple[float, float]:
    """Wall and CPU milliseconds of this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    scheduler.react(jobs, [])
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


class Nothing:
    """A journal that keeps nothing."""

    def mark(self) -> str:
        return "0.0"

    def request(self, job: Any) -> int:
        return 0

    def segment(self) -> None:
        return None

    def stored(self, segment: None) -> None:
        return None


@contextmanager
def ledger(scheduler: Any, wanted: bool) -> Iterator[None]:
    if wanted:
        yield
        return
    from pool.scheduling import scheduler as module

    kept, digest = scheduler.journal, module.digest_of
    scheduler.mirror.journal, scheduler.journal = None, Nothing()
    module.digest_of = lambda outcome: ""
    try:
        yield
    finally:
        scheduler.mirror.journal = scheduler.journal = kept
        module.digest_of = digest


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return (time.perf_counter() - began) * 1000, found


def tell(name: str, ways: dict[str, list[tuple[float, float]]]) -> None:
    for way, spans in ways.items():
        walls, cpus = sorted(wall for wall, _ in spans), sorted(cpu for _, cpu in spans)
        p90 = walls[int(len(walls) * 0.9)]
        median, cpu = statistics.median(walls), statistics.median(cpus)
        print(f"{name}, {way} the ledger: median {median:.2f} ms, p90 {p90:.2f}, CPU of the scheduler {cpu:.2f}")


if __name__ == "__main__":
    main()
