"""Every POST of the API happens once."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.urls import URLPattern

from console import api_urls
from console.audit.models import AuditEntry
from console.tenants.models import ApiToken
from pool.scheduling.models import Job, Queue
from tests import factories
from tests.api.conftest import Api, fields

SPEC: dict[str, Any] = {"name": "train", "command": ["true"]}


def test_every_post_needs_a_key() -> None:
    views = [pattern.callback for pattern in api_urls.urlpatterns if isinstance(pattern, URLPattern)]
    posts = [view.cls.post for view in views if hasattr(view, "cls") and hasattr(view.cls, "post")]
    assert len(posts) >= 11
    assert all(getattr(post, "idempotent", False) for post in posts)


def test_missing_is_400(api: Callable[..., Api]) -> None:
    member = api("member_a")
    answer = member.client.post("/api/v1/jobs", SPEC, content_type="application/json", headers=member.headers)
    assert answer.status_code == 400
    assert fields(answer) == ["Idempotency-Key"]


def test_again_is_the_same_answer_byte_for_byte(api: Callable[..., Api]) -> None:
    factories.make_node("n1")
    member = api("member_a")
    first, second = member.post("jobs", SPEC, key="one"), member.post("jobs", SPEC, key="one")
    assert (second.status_code, second.content, second["Location"]) == (201, first.content, first["Location"])
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert Job.objects.count() == 1
    assert AuditEntry.objects.filter(action="job.submit").count() == 1


def test_another_body_or_path_is_422(api: Callable[..., Api]) -> None:
    factories.make_node("n1")
    member = api("member_a")
    job = member.post("jobs", SPEC, key="one").json()["id"]
    other = member.post("jobs", {**SPEC, "name": "other"}, key="one")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert member.post(f"jobs/{job}/cancel", key="one").status_code == 422
    assert [row.state for row in Job.objects.all()] == ["queued"]


def test_keys_of_two_people_are_two_keys(api: Callable[..., Api]) -> None:
    factories.make_node("n1")
    jobs = {api(who).post("jobs", SPEC, key="one").json()["id"] for who in ("member_a", "member_b")}
    assert len(jobs) == 2


def test_a_new_token_is_replayed_but_not_kept_in_the_clear(api: Callable[..., Api]) -> None:
    member = api("member_a")
    body = {"name": "ci", "scopes": ["jobs:read"]}
    first, second = member.post("tokens", body, key="t"), member.post("tokens", body, key="t")
    assert first.json()["token"] == second.json()["token"]
    assert ApiToken.objects.filter(name="ci").count() == 1


def test_a_refusal_may_be_tried_again_with_its_key(api: Callable[..., Api]) -> None:
    factories.make_node("n1")
    member = api("member_a")
    Queue.objects.update(state="closed")
    assert fields(member.post("jobs", SPEC, key="one")) == ["queue"]
    Queue.objects.update(state="open")
    assert member.post("jobs", SPEC, key="one").status_code == 201


@pytest.mark.django_db(transaction=True)
def test_a_thousand_concurrent_retries_make_one_job(api: Callable[..., Api]) -> None:
    factories.make_node("n1")
    members = [api("member_a")]
    members += [members[0]] * 19
    statuses: Counter[int] = Counter()
    bodies: set[bytes] = set()
    gate = threading.Barrier(20)

    def retry(member: Api) -> None:
        gate.wait()
        for _ in range(50):
            answer = member.post("jobs", SPEC, key="one")
            statuses[answer.status_code] += 1
            if answer.status_code == 201:
                bodies.add(answer.content)
            connection.close()  # as a server does after each request

    threads = [threading.Thread(target=retry, args=[member]) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.total() == 1000
    assert set(statuses) <= {201, 409}
    assert (Job.objects.count(), len(bodies)) == (1, 1)
