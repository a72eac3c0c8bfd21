"""The loop on real rows: submits as members, cancels, waits out an outage and goes on."""

from random import Random
from threading import Event
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from console.audit.models import AuditEntry
from console.demo import queries, services
from console.demo.load.pace import Pace
from console.demo.load.runner import Load, run
from console.tenants.models import User
from pool.inventory.models import Node
from pool.scheduling.models import Job, Queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet() -> None:
    services.seed(128)
    Node.objects.update(reachable=True)


def load(seed: int = 1) -> Load:
    return Load(rng=Random(seed), pace=Pace(burst_closing_s=1.0))


def test_nothing_happens_before_the_fleet_has_joined() -> None:
    services.seed(64)
    assert load().step(0.0, 1.0) == 0
    assert not Job.objects.exists()


def test_jobs_come_from_members_of_their_tenants(fleet: None) -> None:
    assert queries.level().capacity_bp == 128 * 10_000
    made = sum(load().step(float(second), 1.0) for second in range(4))
    jobs = Job.objects.select_related("tenant", "submitted_by")
    assert made == jobs.count() > 10
    for job in jobs:
        assert job.submitted_by.memberships.get().tenant == job.tenant
        assert job.labels["demo"] == "true"
    entry = AuditEntry.objects.filter(action="job.submit").first()
    assert (entry.actor_kind, entry.via) == ("user", "demo")


def test_what_waits_slows_the_stream_down(fleet: None) -> None:
    life = Load(rng=Random(2), pace=Pace(burst_closing_s=1.0, most_queued_jobs=12))
    for second in range(6):
        life.step(float(second), 1.0)
    assert 12 <= Job.objects.filter(state="queued").count() <= 12 + 20


def test_owners_stop_some_of_their_jobs(fleet: None) -> None:
    life = load()
    for second in range(7):
        life.step(float(second), 1.0)
    assert life.cancels
    due = max(at for at, _, _ in life.cancels)
    ids = [public_id for _, _, public_id in life.cancels]
    life.pace = Pace(target=1e-9)
    life.step(due, 0.0)
    assert not life.cancels
    assert {job.state for job in Job.objects.filter(public_id__in=ids)} == {"cancelled"}


def test_a_closed_queue_or_a_lost_account_only_costs_that_job(fleet: None) -> None:
    Queue.objects.update(state="closed")
    assert load().step(0.0, 1.0) == 0
    Queue.objects.update(state="open")
    User.objects.filter(email__startswith="mei@").update(is_active=False)
    assert load().step(0.0, 1.0) > 0


def test_an_outage_of_the_database_is_waited_out(fleet: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first statements fail as they do when the server is gone; the loop comes back by itself."""
    monkeypatch.setattr("console.demo.load.runner.close_old_connections", lambda: None)  # one connection a test
    monkeypatch.setattr("console.demo.load.runner._drop_connections", lambda: None)
    failures = [3]

    def broken(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if failures[0]:
            failures[0] -= 1
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    class Stop(Event):
        pauses: list[float] = []

        def wait(self, timeout: float | None = None) -> bool:
            self.pauses.append(timeout or 0.0)
            return bool(Job.objects.exists()) if not failures[0] else False

    stop = Stop()
    with connection.execute_wrapper(broken):
        run(load(), stop)
    assert stop.pauses[:5] == [0.5, 1.0, 2.0, 4.0, 0.5]
    assert Job.objects.exists()


@pytest.mark.parametrize("target", ["0", "-1", "1.01", "nan"])
def test_a_target_that_is_no_share(target: str) -> None:
    with pytest.raises(CommandError, match="--target"):
        call_command("demo_load", f"--target={target}")
