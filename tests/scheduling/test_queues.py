"""Queues: who makes, holds and releases them, and that work in a released one starts at once."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.test import Client
from django.urls import reverse

from console.audit.models import AuditEntry
from console.common import clock, lease
from console.common.errors import Conflict, InvalidInput, NotAllowed
from pool.scheduling import services, wake
from pool.scheduling.models import Job, JobState, Queue
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.services import QueueLimits, create_queue, set_queue_state
from tests import factories
from tests.conftest import Actors

pytestmark = pytest.mark.django_db
Sent = list[tuple[Any, ...]]
EVERYBODY_ELSE = ["finance", "auditor", "member_a", "viewer_a", "billing_a", "owner_b"]


@pytest.fixture
def queue(actors: Actors) -> Queue:
    return actors.a.queues.get()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    found: Sent = []
    monkeypatch.setattr(wake, "_send", lambda *args: found.append(args))
    return found


def submit(actors: Actors) -> Job:
    return services.submit_job(actors.member_a, {"name": "train", "command": ["true"], "gpus": 1})


def states(*jobs: Job) -> list[str]:
    for job in jobs:
        job.refresh_from_db()
    return [job.state for job in jobs]


def test_what_waits_in_a_released_queue_starts_at_once(
    actors: Actors, queue: Queue, sent: Sent, django_capture_on_commit_callbacks: Any
) -> None:
    """By the wake alone: no sweep re-reads the queues in between."""
    factories.make_node(devices=2)
    epoch = lease.acquire(lease_name(), "test", timedelta(hours=1), clock.now())
    assert epoch is not None
    set_queue_state(actors.owner_a, queue, "held", "maintenance")
    jobs = [submit(actors), submit(actors)]
    scheduler = Scheduler(epoch)
    scheduler.sweep()
    scheduler.react([job.pk for job in jobs], [])
    assert states(*jobs) == [JobState.QUEUED, JobState.QUEUED]
    with django_capture_on_commit_callbacks(execute=True):
        set_queue_state(actors.owner_a, queue, "open")
    assert sent == [("scheduler", b"[[],[],true]")]
    scheduler.react(*orjson.loads(sent[0][1]))
    assert states(*jobs) == [JobState.STARTING, JobState.STARTING]


def test_a_hold_counts_at_once(
    actors: Actors, queue: Queue, sent: Sent, django_capture_on_commit_callbacks: Any
) -> None:
    factories.make_node(devices=2)
    epoch = lease.acquire(lease_name(), "test", timedelta(hours=1), clock.now())
    assert epoch is not None
    scheduler = Scheduler(epoch)
    scheduler.sweep()
    with django_capture_on_commit_callbacks(execute=True):
        set_queue_state(actors.owner_a, queue, "held")
    scheduler.react(*orjson.loads(sent[0][1]))
    job = submit(actors)
    scheduler.react([job.pk], [])
    assert states(job) == [JobState.QUEUED]


def test_a_hold_takes_jobs_and_a_closed_queue_takes_none(actors: Actors, queue: Queue) -> None:
    factories.make_node(devices=1)
    set_queue_state(actors.operator, queue, "held")
    assert submit(actors).state == JobState.QUEUED
    set_queue_state(actors.operator, queue, "closed")
    with pytest.raises(InvalidInput, match="queue"):
        submit(actors)


def test_each_change_is_audited_once_and_the_same_state_is_no_change(
    actors: Actors, queue: Queue, sent: Sent, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(2):
            assert set_queue_state(actors.operator, queue, "held", "  full\nmoon ").state == "held"
    entry = AuditEntry.objects.get(action="queue.state")
    assert (entry.object_id, entry.tenant_id) == (queue.public_id, queue.tenant_id)
    said = json.loads(entry.text)
    assert (said["before"], said["after"]) == ({"state": "open"}, {"state": "held", "reason": "full moon"})
    assert len(sent) == 1


@pytest.mark.parametrize("who", EVERYBODY_ELSE)
def test_nobody_else_changes_or_makes_a_queue(actors: Actors, queue: Queue, who: str) -> None:
    with pytest.raises(NotAllowed):
        set_queue_state(getattr(actors, who), queue, "held")
    with pytest.raises(NotAllowed):
        create_queue(getattr(actors, who), actors.a, "mine")
    queue.refresh_from_db()
    assert (queue.state, actors.a.queues.count()) == ("open", 1)


@pytest.mark.parametrize("state", ["", "HELD", "paused", "open\0"])
def test_a_state_that_no_queue_has(actors: Actors, queue: Queue, state: str) -> None:
    with pytest.raises(InvalidInput, match="state"):
        set_queue_state(actors.operator, queue, state)


def test_a_queue_is_made_with_its_limits_and_audited(actors: Actors) -> None:
    limits = QueueLimits(80_000, 5, quota_share_bp=40_000, over_quota_weight=Decimal("2.5"), priority=7)
    made = create_queue(actors.operator, actors.a, "train", limits)
    made.refresh_from_db()
    facts = (made.limit_share_bp, made.limit_running_jobs, made.quota_share_bp, made.over_quota_weight, made.priority)
    assert facts == (80_000, 5, 40_000, Decimal("2.500"), 7)
    assert (made.state, made.tenant) == ("open", actors.a)
    entry = AuditEntry.objects.get(action="queue.create")
    after = json.loads(entry.text)["after"]
    assert (entry.object_id, after["name"], after["quota_share_bp"]) == (made.public_id, "train", 40_000)
    with pytest.raises(Conflict, match="name"):
        create_queue(actors.operator, actors.a, "train")
    assert create_queue(actors.operator, actors.b, "train").tenant == actors.b


def test_an_owner_limits_its_own_queue_and_claims_nothing_from_others(actors: Actors) -> None:
    assert create_queue(actors.owner_a, actors.a, "small", QueueLimits(limit_share_bp=5_000)).limit_share_bp == 5_000
    for limits in (QueueLimits(quota_share_bp=1), QueueLimits(over_quota_weight=Decimal(9)), QueueLimits(priority=1)):
        with pytest.raises(NotAllowed, match="operators"):
            create_queue(actors.owner_a, actors.a, "greedy", limits)
    assert not Queue.objects.filter(name="greedy").exists()


@pytest.mark.parametrize(
    ("name", "limits", "field"),
    [
        ("", QueueLimits(), "name"),
        ("a b", QueueLimits(), "name"),
        ("x" * 65, QueueLimits(), "name"),
        ("q\n", QueueLimits(), "name"),
        ("q", QueueLimits(limit_share_bp=0), "limit_share_bp"),
        ("q", QueueLimits(limit_share_bp=10**13), "limit_share_bp"),
        ("q", QueueLimits(limit_running_jobs=-1), "limit_running_jobs"),
        ("q", QueueLimits(quota_share_bp=True), "quota_share_bp"),
        ("q", QueueLimits(quota_share_bp=1.5), "quota_share_bp"),  # type: ignore[arg-type]
        ("q", QueueLimits(priority=1001), "priority"),
        ("q", QueueLimits(over_quota_weight=Decimal("NaN")), "over_quota_weight"),
        ("q", QueueLimits(over_quota_weight=Decimal(-1)), "over_quota_weight"),
        ("q", QueueLimits(over_quota_weight=Decimal("1e6")), "over_quota_weight"),
        ("q", QueueLimits(over_quota_weight=Decimal("0.0001")), "over_quota_weight"),
    ],
)
def test_bad_queues_name_the_field_and_store_nothing(
    actors: Actors, name: str, limits: QueueLimits, field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        create_queue(actors.operator, actors.a, name, limits)
    assert [error.field for error in caught.value.errors] == [field]
    assert actors.a.queues.count() == 1


# -- the page


def sign_in(actors: Actors, who: str, language: str = "en") -> Client:
    client = Client(headers={"accept-language": language})
    client.force_login(actors.users[who])
    return client


@pytest.mark.parametrize(("language", "word"), [("en", "Hold queue"), ("zh-hans", "暂停队列")])
def test_the_page_offers_it_to_those_who_may(actors: Actors, queue: Queue, language: str, word: str) -> None:
    url = reverse("scheduling:queue_detail", args=[queue.public_id])
    for who, may in (("operator", True), ("owner_a", True), ("member_a", False), ("viewer_a", False)):
        assert (word in sign_in(actors, who, language).get(url).content.decode()) == may, who


def test_the_page_holds_and_releases(actors: Actors, queue: Queue) -> None:
    client = sign_in(actors, "owner_a")
    act = reverse("scheduling:queue_state", args=[queue.public_id])
    for state, word in (("held", b"Release queue"), ("closed", b"Open queue"), ("open", b"Close queue")):
        page = client.post(act, {"state": state}, follow=True)
        queue.refresh_from_db()
        assert queue.state == state
        assert word in page.content
    assert b"must be one of" in client.post(act, {"state": "x\0y"}, follow=True).content
    assert client.get(act).status_code == 405


def test_strangers_and_nobody(actors: Actors, queue: Queue) -> None:
    act = reverse("scheduling:queue_state", args=[queue.public_id])
    assert Client().post(act, {"state": "held"})["Location"].startswith("/accounts/login/")
    assert sign_in(actors, "owner_b").post(act, {"state": "held"}).status_code == 404
    assert sign_in(actors, "member_a").post(act, {"state": "held"}).status_code == 403
    queue.refresh_from_db()
    assert queue.state == "open"
