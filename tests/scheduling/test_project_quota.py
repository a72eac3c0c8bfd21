"""A project's part of the tenant's quota, and suspended tenants, in the scheduler and before submitting."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.common import clock, lease
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants import services as tenants
from console.tenants.models import ApiToken, Project, Tenant
from pool.scheduling import services
from pool.scheduling.dry_run import dry_run
from pool.scheduling.models import Decision, Job, Replica
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.conftest import Actors


@pytest.fixture
def scheduler(db: None) -> Scheduler:
    return Scheduler(lease.acquire(lease_name(), "test", timedelta(seconds=60), clock.now()))


def submit(actors: Actors, **more: Any) -> Job:
    return services.submit_job(actors.member_a, {"name": "one", "command": ["true"], "gpus": 1, **more})


def project(actors: Actors) -> Project:
    return Project.objects.select_related("tenant").get(tenant=actors.a, slug="default")


def split(actors: Actors, cards: float | None, jobs: int | None = None) -> None:
    share = None if cards is None else int(cards * 10_000)
    tenants.set_project_limits(actors.owner_a, project(actors), limit_share_bp=share, limit_running_jobs=jobs)


def states() -> list[str]:
    return list(Job.objects.order_by("pk").values_list("state", flat=True))


@pytest.mark.parametrize("limits", [{"cards": 2}, {"cards": None, "jobs": 2}])
def test_a_project_holds_no_more_than_its_part(actors: Actors, scheduler: Scheduler, limits: dict[str, Any]) -> None:
    factories.make_node(devices=8)
    other = factories.make_project(actors.a, "other")
    split(actors, **limits)
    for _ in range(3):
        submit(actors, project="default")
    scheduler.sweep()
    scheduler.explain()
    assert states() == ["starting", "starting", "queued"]
    told = Decision.objects.get(job=Job.objects.get(state="queued")).reasons["limit"]
    assert (told["scope"], told["name"], told["used"]) == ("project", "default", 20_000 if limits["cards"] else 2)
    submit(actors, project=other.slug)  # another project is not held back by it
    scheduler.sweep()
    assert states() == ["starting", "starting", "queued", "starting"]
    split(actors, None)
    scheduler.sweep()
    assert states() == ["starting"] * 4


def test_a_new_scheduler_counts_what_is_held(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node(devices=4)
    submit(actors)
    scheduler.sweep()
    split(actors, 1)
    again = Scheduler(scheduler.epoch)
    submit(actors)
    again.sweep()
    assert states() == ["starting", "queued"]


def test_the_limit_that_bites_first_is_told_before_submitting(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node(devices=8)
    Tenant.objects.filter(pk=actors.a.pk).update(limit_share_bp=60_000)
    spec = {"name": "one", "tenant": "aurora", "command": ["true"], "gpus": 1}
    before = dry_run(actors.member_a, spec).bites_first
    assert before is not None
    assert (before.scope, before.limit) == ("tenant", 60_000)
    split(actors, 1)
    near = dry_run(actors.member_a, spec)
    assert near.bites_first is not None
    assert (near.bites_first.scope, near.bites_first.name, near.blocked_by_limit) == ("project", "default", False)
    submit(actors)
    scheduler.sweep()
    assert dry_run(actors.member_a, spec).blocked_by_limit
    client = Client()
    client.force_login(actors.users["member_a"])
    form = {"name": "walk", "tenant": "aurora", "command": "true", "gpu_mode": "whole"}
    assert "Project default" in client.post("/jobs/submit/check/", form).content.decode()


def test_the_parts_are_no_more_than_the_whole(actors: Actors) -> None:
    Tenant.objects.filter(pk=actors.a.pk).update(limit_share_bp=40_000, limit_running_jobs=5)
    other = factories.make_project(actors.a, "other")
    split(actors, 3, 4)
    for wrong, field in (
        ({"limit_share_bp": 10_001}, "limit_share_bp"),
        ({"limit_running_jobs": 2}, "limit_running_jobs"),
    ):
        facts = {"limit_share_bp": None, "limit_running_jobs": None, **wrong}
        with pytest.raises(InvalidInput) as refusal:
            tenants.set_project_limits(actors.owner_a, other, **facts)
        assert refusal.value.errors[0].field == field
    other.refresh_from_db()
    assert (other.limit_share_bp, other.limit_running_jobs) == (None, None)
    tenants.set_project_limits(actors.owner_a, other, limit_share_bp=10_000, limit_running_jobs=1)
    for who in (actors.member_a, actors.owner_b, actors.finance, actors.auditor):
        with pytest.raises(NotAllowed):
            tenants.set_project_limits(who, other, limit_share_bp=1, limit_running_jobs=1)


def test_an_archived_project_takes_no_new_work(actors: Actors) -> None:
    factories.make_node(devices=1)
    found = tenants.set_archived(actors.owner_a, project(actors), True)
    with pytest.raises(InvalidInput) as refusal:
        submit(actors)
    assert refusal.value.errors[0].field == "project"
    tenants.set_archived(actors.owner_a, found, True)
    tenants.set_archived(actors.owner_a, found, False)
    assert submit(actors).state == "queued"
    assert AuditEntry.objects.filter(action__in=["project.archive", "project.reopen"]).count() == 2


def test_suspended_nothing_new_starts_and_what_runs_goes_on(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node(devices=1)
    submit(actors)
    submit(actors)
    scheduler.sweep()
    tenants.suspend_tenant(actors.operator, actors.a, "keep", "unpaid")
    with pytest.raises(InvalidInput) as refusal:
        submit(actors)
    assert refusal.value.errors[0].field == "tenant"
    factories.make_node(devices=1)
    scheduler.sweep()
    assert states() == ["starting", "queued"]
    tenants.resume_tenant(actors.operator, actors.a)
    scheduler.sweep()
    assert states() == ["starting", "starting"]
    with pytest.raises(Conflict):
        tenants.resume_tenant(actors.operator, actors.a)


def test_suspended_with_stop_its_work_ends_and_no_other(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node(devices=2)
    running = submit(actors)
    services.submit_job(actors.member_b, {"name": "theirs", "command": ["true"], "gpus": 1})
    scheduler.sweep()
    replica = Replica.objects.get(job=running)
    services.replica_started(replica.public_id, received_at=clock.now())
    submit(actors)
    for who in (actors.owner_a, actors.finance, actors.auditor):
        with pytest.raises(NotAllowed):
            tenants.suspend_tenant(who, actors.a, "stop", "x")
    with pytest.raises(InvalidInput):
        tenants.suspend_tenant(actors.operator, actors.a, "stop", " ")
    tenants.suspend_tenant(actors.operator, actors.a, "stop", "abuse")
    assert states() == ["stopping", "starting", "cancelled"]
    assert '"jobs_stopped":2' in AuditEntry.objects.get(action="tenant.suspend").text


def test_closed_its_people_and_programs_are_out_and_the_past_stays(actors: Actors) -> None:
    factories.make_node(devices=1)
    both = factories.make_member(actors.a, "member", "both@example.test")
    tenants.add_member(actors.owner_b, actors.b, both, "member")
    clients = {name: Client() for name in ("a", "both")}
    clients["a"].force_login(actors.users["member_a"])
    clients["both"].force_login(both)
    account = tenants.create_service_account(actors.owner_a, actors.a, name="ci", role="member")
    tenants.create_service_token(actors.owner_a, account, name="t", scopes=["jobs:read"])
    tenants.create_token(actors.member_a, name="t", scopes=["jobs:read"], tenant=actors.a)
    _, secret = tenants.invite(actors.owner_a, actors.a, "x@example.test", "member")
    submit(actors)
    tenants.close_tenant(actors.operator, actors.a, "contract ended")
    assert states() == ["cancelled"]
    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert clients["a"].get("/jobs/").status_code == 302  # signed out
    assert clients["both"].get("/jobs/").status_code == 200
    assert clients["both"].get(f"/tenants/{actors.a.public_id}/").status_code == 404
    assert Client().get(f"/invitation/{secret}/").status_code == 404
    assert Job.objects.filter(tenant=actors.a).count() == 1
    with pytest.raises(Conflict):
        tenants.close_tenant(actors.operator, actors.a)


def test_a_quota_change_tells_first_what_it_would_do(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node(devices=4)
    for _ in range(3):
        submit(actors)
    scheduler.sweep()
    client, path = Client(), f"/tenants/{actors.a.public_id}/quota"
    client.force_login(actors.users["operator"])
    page = client.post(path, {"cards": "2", "jobs": "1"}).content.decode()
    assert "Running jobs: 3, on this many cards: 3." in page
    assert "Cards over the new quota: 1." in page
    assert "Jobs over the new quota: 2." in page
    assert Tenant.objects.get(pk=actors.a.pk).limit_share_bp is None
    assert client.post(path, {"cards": "2", "jobs": "1", "sure": "yes"}).status_code == 302
    assert Tenant.objects.get(pk=actors.a.pk).limit_share_bp == 20_000
    assert states() == ["starting"] * 3  # what runs goes on
    owner = Client()
    owner.force_login(actors.users["owner_a"])
    assert owner.post(path, {"cards": "9", "sure": "yes"}).status_code == 403
    part = {"cards": "0.5", "jobs": "", "project": project(actors).public_id}
    assert "Cards over the new quota: 2.5." in owner.post(path, part).content.decode()
    assert owner.post(path, {**part, "sure": "yes"}).status_code == 302
    assert project(actors).limit_share_bp == 5_000
    assert owner.post(path, {**part, "cards": "3", "sure": "yes"}).status_code == 422
    assert owner.post(path, {**part, "cards": "x"}).status_code == 422
