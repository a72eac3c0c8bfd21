"""A pool whose free cards lie scattered, and plans that gather them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from console.common.actor import Actor
from console.tenants.models import Tenant
from console.tenants.queries import actor_for_user
from pool.scheduling import services
from pool.scheduling.defrag import planner
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules, Job, JobState, Replica
from pool.scheduling.services.defrag import start_plan
from tests import factories
from tests.scheduling.sharing.world import World

HASTE: dict[str, Any] = {"rest_s": 0, "job_rest_s": 0, "parallel": 8, "lost_s": 10**9}


class Scattered(World):
    """Nodes of four cards, every other card held by a job that may move; four cards on one node are nowhere free."""

    def __init__(self, nodes: int = 2, rules: dict[str, Any] | None = None, **spec: Any) -> None:
        super().__init__(cards=4 * nodes, nodes=nodes)
        DefragRules.objects.update_or_create(pk=1, defaults={**HASTE, **(rules or {})})
        self.owner: Tenant = self.tenant("owner")
        jobs = self.submit(self.owner, 4 * nodes, **spec)
        self.scheduler.sweep()
        self.run()
        self.now += timedelta(minutes=30)
        for replica in Replica.objects.filter(allocations__device__index__gte=2).distinct():
            self.finish(replica.job)
        self.scheduler.sweep()
        self.stayed = [job for job in jobs if Job.objects.get(pk=job.pk).state == JobState.RUNNING]

    def operator(self) -> Actor:
        return actor_for_user(factories.make_user(role="operator"))

    def plan(self) -> DefragPlan:
        """As the worker makes it, every half hour."""
        self.now += timedelta(hours=1)
        planner.work(self.now)
        return DefragPlan.objects.order_by("-id")[0]

    def approve(self) -> DefragPlan:
        plan = self.plan()
        assert plan.state == "proposed", plan.state
        start_plan(self.operator(), plan, self.now)
        self.scheduler.mover._due = 0.0  # it looks every two seconds of the real clock
        return plan

    def pass_by(self, seconds: float = 10) -> None:
        """What was told to stop has stopped, what was placed runs."""
        self.now += timedelta(seconds=seconds)
        self.stop()
        self.scheduler.sweep()
        self.run()

    def through(self) -> None:
        """Until no plan runs."""
        for _ in range(20):
            self.scheduler.mover._due = 0.0
            self.scheduler.sweep()
            self.pass_by()
            if not DefragPlan.objects.filter(state="running").exists():
                return
        raise AssertionError(f"still runs: {list(DefragMove.objects.values_list('state', flat=True))}")

    def wait_for_four(self) -> Job:
        """A job that no node has room for, though there are cards enough."""
        (job,) = self.submit(self.owner, gpus=4, preemptible=False)
        self.scheduler.sweep()
        assert job.state == JobState.QUEUED
        return job


def state(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


__all__ = ["HASTE", "Scattered", "services", "state"]
