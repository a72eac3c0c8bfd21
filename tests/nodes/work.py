"""Puts work on nodes through the real scheduler."""

from datetime import timedelta
from typing import Any

from console.common import clock, lease
from pool.scheduling.models import Interval, Job, NodeCommand, Replica
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.services import submit_job
from tests import factories
from tests.nodes.running import PATIENCE_S, wait_for


class Bench:
    """A tenant with a scheduler of its own."""

    def __init__(self) -> None:
        from console.tenants.queries import actor_for_user

        self.tenant = factories.make_tenant("aurora")
        self.actor = actor_for_user(factories.make_member(self.tenant, "member", "member@aurora.test"))
        now = clock.now()
        epoch = lease.acquire(lease_name(), "test", timedelta(hours=1), now)
        assert epoch is not None
        self.scheduler = Scheduler(epoch)

    def run(self, command: list[str], **more: Any) -> Job:
        """A job that is placed now: its start command is in the outbox."""
        spec = {"name": "work", "command": command, "gpus": 1, "gpu_fraction": 0.25, **more}
        job = submit_job(self.actor, spec)
        self.scheduler.sweep()
        job.refresh_from_db()
        assert job.state == "starting", job.state
        return job

    def shell(self, script: str, **more: Any) -> Job:
        return self.run(["bash", "-c", script], **more)


def replica_of(job: Job) -> Replica:
    return Replica.objects.filter(job=job).latest("pk")


def state_of(job: Job) -> str:
    return Job.objects.values_list("state", flat=True).get(pk=job.pk)


def reaches(job: Job, state: str, seconds: float = PATIENCE_S) -> None:
    wait_for(lambda: state_of(job) == state, f"{job.name} {state}, it is {state_of(job)}", seconds)


def interval_of(job: Job) -> Interval:
    return Interval.objects.filter(job=job).latest("pk")


def held_seconds(job: Job) -> float:
    interval = interval_of(job)
    assert interval.ended_at is not None
    return (interval.ended_at - interval.started_at).total_seconds()


def command_of(job: Job, kind: str) -> NodeCommand:
    return NodeCommand.objects.filter(replica__job=job, kind=kind).latest("pk")
