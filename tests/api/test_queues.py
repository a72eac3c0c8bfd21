"""Holding, releasing and closing queues by API."""

from collections.abc import Callable

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
