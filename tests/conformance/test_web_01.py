"""Web 1 and 4: a filter by another's name is as one by nothing; page, API and exports follow one rule.

There are no saved filters yet (case 1's own words); what a URL can name is tried instead: tenants, projects, queues,
ids and cursors of others. The websockets of case 4 are in tests/live/test_job_socket.py and test_heatmap_socket.py.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.common.listing import keyset
from pool.scheduling.models import Job
from tests import factories
from tests.api.conftest import Api
from tests.conftest import Actors


@pytest.fixture
def jobs(actors: Actors) -> dict[str, Job]:
    factories.make_project(actors.a, "secret-project")
    return {"a": factories.make_job(actors.a, name="alpha"), "b": factories.make_job(actors.b, name="beta")}


@pytest.mark.parametrize(
    ("name", "theirs", "nothing"),
    [
        ("tenant", "aurora", "no-such-tenant"),
        ("project", "secret-project", "no-such-project"),
        ("text", "alpha", "no-such-job"),
    ],
)
def test_theirs_and_nothing_read_the_same(
    api: Callable[..., Api],
    jobs: dict[str, Job],
    name: str,
    theirs: str,
    nothing: str,
) -> None:
    other = api("member_b")
    found, missing = other.get("jobs", **{name: theirs}), other.get("jobs", **{name: nothing})
    assert (found.status_code, found.content) == (missing.status_code, missing.content)


def test_anothers_cursor_shows_only_my_rows(api: Callable[..., Api], jobs: dict[str, Job], actors: Actors) -> None:
    factories.make_job(actors.a, name="alpha-2")
    cursor = keyset(Job.objects.filter(tenant=actors.a), size=1).after
    names = [job["name"] for job in api("member_b").get("jobs", cursor=cursor).json()["results"]]
    assert set(names) <= {"beta"}


def seen(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.parametrize(("who", "expected"), [("member_a", {"alpha"}), ("member_b", {"beta"}), ("finance", set())])
def test_one_rule_on_every_way_out(
    api: Callable[..., Api],
    jobs: dict[str, Job],
    actors: Actors,
    who: str,
    expected: set[str],
) -> None:
    browser = Client()
    browser.force_login(actors.users[who])
    ways = {
        "page": browser.get("/jobs/?state=all"),
        "page export": browser.get("/jobs/export/?format=csv&state=all"),
        "API by session": browser.get("/api/v1/jobs"),
        "API by token": api(who).get("jobs"),
        "API export": api(who).get("jobs", format="csv"),
    }
    for way, answer in ways.items():
        text = seen(answer).decode("utf-8")
        assert {name for name in ("alpha", "beta") if name in text} == expected, way
    for row in jobs.values():
        mine = row.name in expected
        for path in (f"/jobs/{row.public_id}/", f"/api/v1/jobs/{row.public_id}"):
            assert browser.get(path).status_code == (200 if mine else 404), path
