"""Jobs over the API: submit, look, act, export."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from console.audit.models import AuditEntry
from pool.scheduling.models import Job
from tests import factories
from tests.api.conftest import Api, fields
from tests.conftest import Actors

SPEC: dict[str, Any] = {"name": "train", "command": ["python", "train.py"], "gpus": 1}


@pytest.fixture
def fleet(actors: Actors) -> None:
    factories.make_node("n1", devices=2)


@pytest.mark.usefixtures("fleet")
def test_submit_then_read_it_back(api: Callable[..., Api]) -> None:
    member = api("member_a")
    answer = member.post("jobs", {**SPEC, "gpu_fraction": 0.25, "labels": {"team": "vision"}})
    assert answer.status_code == 201, answer.content
    job = answer.json()
    assert answer["Location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["tenant"], job["state"], job["total_share_bp"]) == ("aurora", "queued", 2500)
    detail = member.get(f"jobs/{job['id']}").json()
    assert detail["command"] == ["python", "train.py"]
    assert detail["roles"][0]["share_bp"] == 2500
    assert detail["attempts"] == []
    assert detail["decision"] is None
    entry = AuditEntry.objects.get(action="job.submit")
    assert entry.object_id == job["id"]
    assert entry.actor_label == "member@aurora.test"
    assert entry.via == f"token weir_{member.token.prefix}"
    assert entry.request_id == answer["X-Request-ID"]
    timeline = member.get(f"jobs/{job['id']}/timeline").json()["results"]
    assert [event["kind"] for event in timeline] == ["submitted"]


@pytest.mark.usefixtures("fleet")
def test_dry_run_says_where_and_stores_nothing(api: Callable[..., Api]) -> None:
    answer = api("member_a").post("jobs/dry-run", SPEC)
    assert answer.status_code == 200, answer.content
    plan = answer.json()
    assert plan["fits"] is True
    assert plan["placements"][0]["node"] == "n1"
    assert Job.objects.count() == 0


@pytest.mark.usefixtures("fleet")
def test_actions(api: Callable[..., Api]) -> None:
    member = api("member_a")
    job = member.post("jobs", SPEC).json()["id"]
    assert member.post(f"jobs/{job}/priority", {"priority": 7}).json()["priority"] == 7
    assert member.post(f"jobs/{job}/cancel").json()["state"] == "cancelled"
    again = member.post(f"jobs/{job}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "already_ended")
    assert member.post(f"jobs/{job}/retry").json()["state"] == "queued"
    assert member.post(f"jobs/{job}/requeue").json()["code"] == "not_active"
    clone = member.post(f"jobs/{job}/clone", {"name": "second"})
    assert clone.status_code == 201, clone.content
    assert clone.json()["name"] == "second"
    assert member.get(f"jobs/{clone.json()['id']}").json()["cloned_from"] == job


@pytest.mark.usefixtures("fleet")
def test_viewer_looks_but_does_not_touch(api: Callable[..., Api]) -> None:
    job = api("member_a").post("jobs", {**SPEC, "environment": {"KEY": "hush"}}).json()["id"]
    viewer = api("viewer_a")
    assert viewer.get(f"jobs/{job}").json()["environment"] == {"KEY": "***"}
    assert viewer.post(f"jobs/{job}/cancel").status_code == 403
    assert viewer.post("jobs", SPEC).status_code == 403
    assert Job.objects.get().state == "queued"


@pytest.mark.usefixtures("fleet")
def test_another_tenant_cannot_tell_it_exists(api: Callable[..., Api]) -> None:
    job = api("member_a").post("jobs", SPEC).json()["id"]
    other = api("member_b")
    for path in ("", "/timeline", "/decisions", "/replicas", "/logs"):
        theirs, missing = other.get(f"jobs/{job}{path}"), other.get(f"jobs/job_{'0' * 24}{path}")
        assert theirs.status_code == missing.status_code == 404
        assert theirs.json()["detail"] == missing.json()["detail"]
    for action in ("cancel", "retry", "requeue", "clone", "priority"):
        body = {"priority": 1} if action == "priority" else {}
        assert other.post(f"jobs/{job}/{action}", body).status_code == 404
    assert other.get("jobs", tenant="aurora").json()["results"] == []
    assert Job.objects.get().state == "queued"


def test_filters(api: Callable[..., Api], actors: Actors) -> None:
    factories.make_job(actors.a, name="alpha-1", state="succeeded")
    factories.make_job(actors.a, name="beta-1", state="queued")
    factories.make_job(actors.b, name="alpha-2", state="queued")
    operator = api("operator")

    def names(**params: str) -> list[str]:
        return [job["name"] for job in operator.get("jobs", **params).json()["results"]]

    assert names() == ["alpha-2", "beta-1", "alpha-1"]
    assert names(state="queued") == ["alpha-2", "beta-1"]
    assert names(state="queued,succeeded", tenant="aurora") == ["beta-1", "alpha-1"]
    assert names(text="ALPHA") == ["alpha-2", "alpha-1"]
    assert names(queue="default", project="default", kind="batch") == ["alpha-2", "beta-1", "alpha-1"]
    assert names(created_after="2100-01-01T00:00:00Z") == []
    assert names(created_before="2100-01-01T00:00:00Z", text="beta") == ["beta-1"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"state": "sleeping"}, "state"),
        ({"color": "red"}, "color"),
        ({"limit": "0"}, "limit"),
        ({"limit": "501"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "ÿÿ"}, "cursor"),
        ({"created_after": "yesterday"}, "created_after"),
        ({"format": "pdf"}, "format"),
        ({"text": "a\0b"}, "text"),
        ({"state": ["queued", "running"]}, "state"),
    ],
)
def test_bad_parameters_are_named(api: Callable[..., Api], params: dict[str, Any], field: str) -> None:
    answer = api("member_a").get("jobs", **params)
    assert answer.status_code == 422
    assert fields(answer) == [field]


def test_pages_by_cursor_both_ways(api: Callable[..., Api], actors: Actors) -> None:
    for number in range(5):
        factories.make_job(actors.a, name=f"j{number}")
    member = api("member_a")
    first = member.get("jobs", limit=2).json()
    second = member.get("jobs", limit=2, cursor=first["next"]).json()
    third = member.get("jobs", limit=2, cursor=second["next"]).json()
    names = [[job["name"] for job in page["results"]] for page in (first, second, third)]
    assert names == [["j4", "j3"], ["j2", "j1"], ["j0"]]
    assert first["previous"] is None
    assert third["next"] is None
    back = member.get("jobs", limit=2, cursor=second["previous"]).json()
    assert (back["results"], back["previous"]) == (first["results"], None)


def test_export_is_the_filtered_set(api: Callable[..., Api], actors: Actors) -> None:
    factories.make_job(actors.a, name="=cmd()", priority=-5)
    factories.make_job(actors.a, name="other", state="failed")
    answer = api("member_a").get("jobs", format="csv", state="queued")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    body = b"".join(answer.streaming_content).decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(body, newline="")))
    assert len(lines) == 1
    assert (lines[0]["name"], lines[0]["priority"]) == ("'=cmd()", "-5")
