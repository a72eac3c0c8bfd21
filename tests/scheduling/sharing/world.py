"""A pool of the database in miniature: queues of tenants, jobs, a scheduler, and nodes that obey at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from console.common import clock, lease
from console.common.actor import system
from console.tenants.models import Tenant
from pool.scheduling import services
from pool.scheduling.models import Job, JobState, NodeCommand, Queue, Replica, ReplicaState
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.states import REPLICA_FINAL
from tests import factories

CARD = 10_000


class World:
    """`clock` stands still until a test moves it."""

    def __init__(self, cards: int = 8, nodes: int = 1, **node: Any) -> None:
        self.now = clock.now()
        self.nodes = [factories.make_node(devices=cards // nodes, **node) for _ in range(nodes)]
        self.scheduler = self.new_scheduler()

    def new_scheduler(self) -> Scheduler:
        """Takes over, as a standby does when the one before it was killed."""
        epoch = lease.acquire(lease_name(), f"test {clock.now().timestamp()}", timedelta(hours=1), clock.now())
        if epoch is None:
            lease.release(lease_name(), lease_holder())
            return self.new_scheduler()
        self.scheduler = Scheduler(epoch, lambda: self.now)
        return self.scheduler

    def tenant(self, slug: str, **limits: Any) -> Tenant:
        """With one queue of its own."""
        tenant = factories.make_tenant(slug)
        Queue.objects.filter(tenant=tenant).update(**limits)
        return tenant

    def submit(self, tenant: Tenant, count: int = 1, **spec: Any) -> list[Job]:
        body = {"tenant": tenant.slug, "name": "w", "command": ["x"], "gpus": 1, "preemptible": True, **spec}
        return [services.submit_job(system("test"), body) for _ in range(count)]

    def run(self) -> None:
        """Everything that was placed starts, everything that was told to stop has stopped."""
        for replica in Replica.objects.exclude(state__in=REPLICA_FINAL).order_by("pk"):
            if replica.state == ReplicaState.ASSIGNED:
                services.replica_started(replica.public_id, received_at=self.now)
        NodeCommand.objects.filter(kind="start").exclude(state="obsolete").update(state="done")

    def stop(self) -> int:
        stopping = Replica.objects.filter(state=ReplicaState.STOPPING).order_by("pk")
        return sum(self.end(replica, "stopped") for replica in stopping)

    def end(self, replica: Replica, result: str, at: datetime | None = None) -> bool:
        facts = {"age_us": 0, "exit_code": 0 if result == "succeeded" else None, "detail": "", "result": result}
        return services.replica_ended(replica.public_id, received_at=at or self.now, **facts)

    def finish(self, job: Job) -> None:
        for replica in Replica.objects.filter(job=job).exclude(state__in=REPLICA_FINAL):
            self.end(replica, "succeeded")

    def settle(self, most: int = 30) -> int:
        """Sweeps until nothing changes any more; how many rounds did something."""
        before: object = None
        for rounds in range(most):
            self.scheduler.sweep()
            self.run()
            self.stop()
            now = sorted(Job.objects.values_list("pk", "state", "attempt_count"))
            if now == before:
                return rounds - 1
            before = now
        raise AssertionError(f"no fixed point after {most} rounds")

    def cards(self, tenant: Tenant) -> float:
        """Held by jobs that run or start."""
        total = sum(
            allocation.share_bp
            for job in Job.objects.filter(tenant=tenant, state__in=[JobState.STARTING, JobState.RUNNING])
            for allocation in job.allocations.filter(released_at=None)
        )
        return total / CARD


def lease_holder() -> str:
    from console.common.models import Lease

    return Lease.objects.get(name=lease_name()).holder


def states(*jobs: Job) -> list[str]:
    return [Job.objects.get(pk=job.pk).state for job in jobs]
