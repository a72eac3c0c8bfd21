"""What looking ahead costs the scheduler, and whom it keeps waiting: a full pool, a line of jobs, sweep after sweep.

    python -m tests.bench.outlook_cost [--nodes 1280] [--waiting 64]

DATABASE_URL decides the database; a test database is made in it and dropped again.
"""

import argparse
import os
import time
from datetime import timedelta
from typing import Any

from tests.bench.ledger_cost import fill


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1280)
    parser.add_argument("--waiting", type=int, default=64)
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
    from pool.scheduling.models import Job
    from pool.scheduling.outlook import keeper
    from pool.scheduling.scheduler import Scheduler, lease_name
    from tests import factories

    wake.gateways = lambda nodes: None
    told: dict[int, Any] = {}
    keeper.publish = told.update  # type: ignore[assignment]
    fill(given.nodes)
    tenant, other = factories.make_tenant("bench"), factories.make_tenant("other")
    epoch = lease.acquire(lease_name(), "bench", timedelta(hours=1), clock.now())
    assert epoch is not None
    submit(tenant, given.nodes * 8)
    scheduler = Scheduler(epoch)
    scheduler.waiting.reconcile()
    scheduler.run_pass(scheduler.waiting)
    now = clock.now()
    for number, pk in enumerate(Job.objects.filter(state="starting").order_by("pk").values_list("pk", flat=True)):
        Job.objects.filter(pk=pk).update(deadline_at=now + timedelta(minutes=1 + number % 600))
    submit(tenant, given.waiting // 2)
    submit(other, given.waiting // 2)
    gaps: list[float] = []
    cpus: list[float] = []
    spent, sweeps = 0.0, 0
    while not scheduler.outlook.looked:
        scheduler.waiting.reconcile()
        last, last_cpu = time.perf_counter(), time.process_time()

        def between() -> None:
            nonlocal last, last_cpu
            gaps.append(time.perf_counter() - last)
            cpus.append(time.process_time() - last_cpu)
            last, last_cpu = time.perf_counter(), time.process_time()

        began = time.process_time()
        scheduler.outlook.work(clock.now(), scheduler._usage, between)
        spent, sweeps = spent + time.process_time() - began, sweeps + 1
    ordered, cpu = sorted(gaps), sorted(cpus)
    print(f"{given.nodes * 8} devices, {Job.objects.filter(state='starting').count()} run, {len(told)} wait")
    print(f"whole: {spent * 1000:.0f} ms of CPU in {sweeps} sweeps")
    print(
        f"longest without looking up: {ordered[-1] * 1000:.1f} ms, p99 {ordered[int(len(ordered) * 0.99)] * 1000:.1f}"
    )
    print(f"of it CPU: {cpu[-1] * 1000:.1f} ms, p99 {cpu[int(len(cpu) * 0.99)] * 1000:.1f}")
    first = next(iter(told.values()))
    print(f"first in line: {first.basis}, {first.early} to {first.late}")


def submit(tenant: Any, count: int) -> None:
    from console.common import clock
    from pool.scheduling.models import Job, JobRole

    now = clock.now()
    facts: dict[str, Any] = {
        "project": tenant.projects.first(),
        "queue": tenant.queues.first(),
        "spec": {},
        "command": ["true"],
        "created_at": now,
        "queued_at": now,
        "total_share_bp": 10_000,
    }
    jobs = Job.objects.bulk_create([Job(tenant=tenant, name=f"b{n}", **facts) for n in range(count)], batch_size=500)
    role: dict[str, Any] = {"replicas": 1, "min_replicas": 1, "max_replicas": 1, "devices": 1, "share_bp": 10_000}
    JobRole.objects.bulk_create(
        [JobRole(job=job, name="w", position=0, isolation="exclusive", **role) for job in jobs], batch_size=500
    )


if __name__ == "__main__":
    main()
