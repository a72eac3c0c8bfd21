"""Holding, releasing and closing queues by API."""

from collections.abc import Callable
from typing import Any

import pytest

from console.audit.models import AuditEntry
from pool.scheduling.models import Queue
from tests.api.conftest import Api, fields
from tests.conftest import Actors

pytestmark = pytest.mark.django_db
Make = Callable[..., Api]


@pytest.fixture
def queue(actors: Actors) -> Queue:
    return actors.a.queues.get()


def test_hold_release_and_close(api: Make, queue: Queue) -> None:
    owner = api("owner_a")
    for act, state in (("hold", "held"), ("release", "open"), ("close", "closed"), ("close", "closed")):
        answer = owner.post(f"queues/{queue.public_id}/{act}", {"reason": "moving"})
        assert (answer.status_code, answer.json()["state"], answer.json()["id"]) == (200, state, queue.public_id)
    assert AuditEntry.objects.filter(action="queue.state", object_id=queue.public_id).count() == 3


def test_an_unknown_field_or_a_long_reason_changes_nothing(api: Make, queue: Queue) -> None:
    for body, field in (({"state": "open"}, "state"), ({"reason": "x" * 201}, "reason"), ({"reason": "\0"}, "reason")):
        answer = api("owner_a").post(f"queues/{queue.public_id}/hold", body)
        assert answer.status_code == 422, body
        assert fields(answer) == [field]
    queue.refresh_from_db()
    assert queue.state == "open"


def test_a_token_that_may_only_read_is_refused(api: Make, queue: Queue) -> None:
    answer = api("owner_a", scopes=("jobs:read",)).post(f"queues/{queue.public_id}/hold", {})
    assert answer.status_code == 403
    queue.refresh_from_db()
    assert queue.state == "open"


def test_a_queue_is_added_once(api: Make, actors: Actors) -> None:
    body = {"tenant": "aurora", "name": "night", "limit_share_bp": 40_000, "limit_running_jobs": 3}
    owner = api("owner_a")
    answers = [owner.post("queues", body, key="once") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    made = actors.a.queues.get(name="night")
    assert answers[0].json() == answers[1].json()
    assert answers[0]["Location"] == f"/api/v1/queues/{made.public_id}"
    assert (made.limit_share_bp, made.limit_running_jobs, made.quota_share_bp) == (40_000, 3, 0)
    assert owner.post("queues", body).status_code == 409
    assert owner.post("queues", {**body, "name": "day", "quota_share_bp": 1}).status_code == 403
    weighed = api("operator").post("queues", {**body, "name": "day", "quota_share_bp": 1, "over_quota_weight": "2.5"})
    assert (weighed.status_code, weighed.json()["over_quota_weight"]) == (201, "2.500")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": "a b"}, "name"),
        ({"name": ""}, "name"),
        ({"tenant": "boreal"}, "tenant"),  # another's
        ({"tenant": "nobody"}, "tenant"),
        ({"limit_share_bp": -1}, "limit_share_bp"),
        ({"limit_running_jobs": 10**309}, "limit_running_jobs"),
        ({"over_quota_weight": "NaN"}, "over_quota_weight"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_queue_names_the_field_and_adds_none(api: Make, actors: Actors, more: dict[str, Any], field: str) -> None:
    answer = api("owner_a").post("queues", {"tenant": "aurora", "name": "night", **more})
    assert answer.status_code == 422
    assert fields(answer) == [field]
    assert Queue.objects.count() == 2
