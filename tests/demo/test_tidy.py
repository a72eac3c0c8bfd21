"""What a long demo forgets, and what it never may."""

from datetime import timedelta

import pytest

from console.common import clock
from console.demo import services
from console.tenants.models import Tenant
from pool.scheduling.models import Attempt, Decision, Job, JobEvent, NodeCommand, Replica
from tests import factories

pytestmark = pytest.mark.django_db
NOW = clock.now()


def story(tenant: Tenant, ended: timedelta | None, state: str = "succeeded") -> Job:
    """A job with two events, a decision and a start command; `ended` ago, or still running."""
    end = None if ended is None else NOW - ended
    begin = (end or NOW) - timedelta(days=1)
    job = factories.make_job(tenant, state="succeeded" if end else "running", finished_at=end)
    decision = Decision.objects.create(job=job, at=begin, placed=True, snapshot="s", epoch=1, duration_us=1, reasons={})
    attempt = Attempt.objects.create(job=job, number=1, epoch=1, placed_at=begin, decision=decision)
    replica = Replica.objects.create(
        attempt=attempt,
        job=job,
        role=job.roles.get(),
        rank=0,
        node=factories.make_node(devices=0),
        assigned_at=begin,
        state=state if end else "running",
        ended_at=end,
    )
    NodeCommand.objects.create(
        node=replica.node, replica=replica, kind="start", payload={}, epoch=1, state="done", created_at=begin
    )
    for kind in ("submitted", "placed"):
        JobEvent.objects.create(job=job, at=begin, kind=kind)
    return job


@pytest.fixture
def demo() -> Tenant:
    return factories.make_tenant("dialect")


def left(job: Job) -> tuple[int, int, int]:
    commands = NodeCommand.objects.filter(replica__job=job).count()
    return commands, job.events.count(), job.decisions.count()


def test_old_finished_demo_work_loses_its_story_and_keeps_its_facts(demo: Tenant) -> None:
    old, fresh, running = story(demo, timedelta(hours=7)), story(demo, timedelta(minutes=5)), story(demo, None)
    middle = story(demo, timedelta(minutes=15))
    assert services.tidy(NOW) == 5
    assert left(old) == (0, 0, 0)
    assert left(middle) == (0, 2, 1)
    assert left(fresh) == left(running) == (1, 2, 1)
    assert old.attempts.get().replicas.count() == 1
    assert services.tidy(NOW) == 0


def test_a_persons_job_keeps_its_story(demo: Tenant) -> None:
    job = story(factories.make_tenant("real"), timedelta(days=30))
    services.tidy(NOW)
    assert left(job) == (0, 2, 1)


def test_a_command_that_may_still_be_carried_out_stays(demo: Tenant) -> None:
    job = story(demo, timedelta(days=2))
    NodeCommand.objects.update(state="sent")
    services.tidy(NOW)
    assert left(job)[0] == 1


def test_one_step_stays_short(demo: Tenant) -> None:
    jobs = [story(demo, timedelta(days=2)) for _ in range(3)]
    assert services.tidy(NOW, most=2) == 2 + 2 + 2
    assert [left(job)[0] for job in jobs] == [0, 0, 1]  # the oldest first
