"""Request ids, problem answers of failures, throttling, the schema."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import OperationalError
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as ValkeyGone
from rest_framework.settings import api_settings

from console.common.api import throttles
from pool.scheduling.api import jobs
from tests.api.conftest import Api, fields


def test_a_harmless_request_id_is_kept_and_another_is_replaced(client: Client, db: None) -> None:
    assert client.get("/api/v1/me", headers={"X-Request-ID": "trace-12345"})["X-Request-ID"] == "trace-12345"
    for strange in ("short", "a" * 65, 'x"\n{"event": "forged"}', "ü" * 10):
        kept = client.get("/api/v1/me", headers={"X-Request-ID": strange})["X-Request-ID"]
        assert kept != strange
        assert len(kept) == 24


def test_anonymous_is_told_how_to_come_in(client: Client, db: None) -> None:
    answer = client.get("/api/v1/jobs")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="weir"')
    fields(answer)


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (ZeroDivisionError("secret detail"), 500, "internal_error"),
        (OperationalError("secret detail"), 503, "database_unavailable"),
    ],
)
def test_a_failure_tells_nothing_of_the_inside(
    api: Callable[..., Api], monkeypatch: pytest.MonkeyPatch, failure: Exception, status: int, code: str
) -> None:
    def fail(*_: Any) -> None:
        raise failure

    member = api("member_a")
    monkeypatch.setattr(jobs.Jobs, "rows", fail)
    answer = member.get("jobs")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert b"secret" not in answer.content
    fields(answer)
    assert ("Retry-After" in answer) == (status == 503)


@pytest.fixture
def slow_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", {"actor": "3/hour"}, raising=False)


@pytest.mark.usefixtures("slow_rate", "live")
def test_a_caller_is_throttled_alone(api: Callable[..., Api], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttles.time, "time", lambda: 1_800_000_000.0)  # no hour ends between two calls
    member, other = api("member_a"), api("member_b")
    assert [member.get("me").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = member.get("me")
    assert 0 < int(refused["Retry-After"]) <= 3600
    assert refused.json()["code"] == "throttled"
    assert other.get("me").status_code == 200


@pytest.mark.usefixtures("slow_rate")
def test_the_api_stays_up_without_valkey(api: Callable[..., Api], monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise ValkeyGone

    member = api("member_a")
    monkeypatch.setattr(redis.connection.AbstractConnection, "connect", gone)
    monkeypatch.setattr(redis.connection.ConnectionPool, "get_connection", gone)
    assert {member.get("me").status_code for _ in range(6)} == {200}


def test_the_schema_names_every_operation_and_its_refusals(api: Callable[..., Api]) -> None:
    schema = json.loads(api("member_a").get("schema").content)
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) >= 36
    for operation in operations:
        assert "application/problem+json" in operation["responses"]["401"]["content"], operation["operationId"]
        assert operation["description"]
    post = schema["paths"]["/api/v1/jobs"]["post"]
    assert [one["name"] for one in post["parameters"]] == ["Idempotency-Key"]
    assert schema["components"]["schemas"]["JobRequest"]["required"] == ["command", "name"]


def test_the_docs_need_a_session_and_bring_their_own_files(client: Client, api: Callable[..., Api]) -> None:
    assert client.get("/api/v1/docs").status_code == 302
    client.force_login(api("member_a").token.user)
    page = client.get("/api/v1/docs").content.decode()
    assert "<style" not in page
    assert "//cdn" not in page
    assert page.count("<script src=") == 3


@override_settings(DEBUG=False)
def test_answers_say_what_may_be_kept(api: Callable[..., Api]) -> None:
    answer = api("member_a").get("jobs", format="csv")
    assert answer["Cache-Control"] == "private, no-store"
    assert settings.REST_FRAMEWORK["UNAUTHENTICATED_USER"] is None
