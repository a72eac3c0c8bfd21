"""The job list: filters in the URL, pages, export, scope, and as many queries for 2 rows as for 20."""

import csv
import io
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pool.scheduling.models import Job, JobState
from tests import factories
from tests.conftest import Actors
from tests.web.conftest import As

URL = "/jobs/"


def _names(html: str) -> set[str]:
    return {job.name for job in Job.objects.all() if f">{job.name}</a>" in html}


def test_tabs_filter_and_count(as_: As, actors: Actors) -> None:
    factories.make_job(actors.a, name="waits")
    factories.make_job(actors.a, name="runs", state=JobState.RUNNING)
    factories.make_job(actors.a, name="broke", state=JobState.FAILED)
    client = as_("member_a")
    assert _names(client.get(URL).content.decode()) == {"runs"}
    assert _names(client.get(URL, {"state": "queued"}).content.decode()) == {"waits"}
    assert _names(client.get(URL, {"state": "failed"}).content.decode()) == {"broke"}
    html = client.get(URL, {"state": "all"}).content.decode()
    assert _names(html) == {"waits", "runs", "broke"}
    assert 'All <span class="num">3</span>' in html


def test_filters_combine_and_stay_in_the_tabs(as_: As, actors: Actors) -> None:
    night = factories.make_queue(actors.a, "night")
    factories.make_job(actors.a, name="night-a", queue=night)
    factories.make_job(actors.a, name="night-b")
    html = as_("operator").get(URL, {"state": "queued", "queue": "night", "q": "NIGHT"}).content.decode()
    assert _names(html) == {"night-a"}
    assert "?state=all&amp;queue=night&amp;q=NIGHT" in html


def test_found_by_id(as_: As, actors: Actors) -> None:
    job = factories.make_job(actors.a)
    assert job.name in as_("member_a").get(URL, {"state": "all", "q": job.public_id}).content.decode()


@pytest.mark.parametrize(
    "params", [{"state": "nonsense"}, {"q": "\0"}, {"queue": "x" * 500}, {"tenant": "boreal"}, {"q": "'--"}]
)
def test_odd_filters_find_nothing_and_break_nothing(as_: As, actors: Actors, params: dict[str, str]) -> None:
    factories.make_job(actors.b, name="secret-b", state=JobState.RUNNING)
    response = as_("member_a").get(URL, params)
    assert response.status_code == 200
    assert "secret-b" not in response.content.decode()


def test_another_tenants_jobs_and_counts_are_not_there(as_: As, actors: Actors) -> None:
    for _ in range(3):
        factories.make_job(actors.b, state=JobState.RUNNING)
    html = as_("member_a").get(URL, {"state": "all"}).content.decode()
    assert "Boreal" not in html
    assert 'All <span class="num">0</span>' in html


def test_pages_by_keyset(as_: As, actors: Actors) -> None:
    for number in range(60):
        factories.make_job(actors.a, name=f"n-{number:02d}")
    client = as_("member_a")
    first = client.get(URL, {"state": "queued"})
    assert len(first.context["rows"]) == 50
    assert 'hx-trigger="every' in first.content.decode()
    older = client.get(URL, {"state": "queued", "after": first.context["page"].after})
    assert [row.job.name for row in older.context["rows"]] == [f"n-{n:02d}" for n in range(9, -1, -1)]
    assert 'hx-trigger="every' not in older.content.decode()  # an older page stands still
    newer = client.get(URL, {"state": "queued", "before": older.context["page"].before})
    assert len(newer.context["rows"]) == 50


def test_a_broken_cursor_is_named(as_: As) -> None:
    response = as_("member_a").get(URL, {"after": "nonsense"})
    assert response.status_code == 422
    assert "cursor" in response.content.decode()


def test_as_many_queries_for_2_rows_as_for_20(
    as_: As, actors: Actors, submit: Callable[..., Job], schedule: Callable[[], None]
) -> None:
    factories.make_node(devices=8)
    client = as_("member_a")

    def queries() -> int:
        schedule()
        client.get(URL, {"state": "all"})
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(URL, {"state": "all"}).status_code == 200
        return len(captured)

    submit("a"), submit("never-now", gpus=8)
    few = queries()
    for number in range(18):
        submit(f"n-{number}", gpu_fraction=0.5)
    assert queries() == few


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_exports_exactly_the_filtered_rows(as_: As, actors: Actors, form: str) -> None:
    factories.make_job(actors.a, name='=HYPERLINK("http://x")')
    factories.make_job(actors.a, name="runs", state=JobState.RUNNING)
    factories.make_job(actors.b, name="secret-b")
    response = as_("member_a").get(reverse("scheduling:job_export"), {"state": "queued", "format": form})
    body = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    assert response.status_code == 200
    if form == "xlsx":
        assert body.startswith(b"PK")
        return
    rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    assert [row["Name"] for row in rows] == ['\'=HYPERLINK("http://x")']
    assert rows[0]["Cards asked for"] == "1.0"


def test_export_refuses_another_format_and_anonymous(as_: As) -> None:
    url = reverse("scheduling:job_export")
    assert as_("member_a").get(url, {"format": "exe"}).status_code == 422
    assert Client().get(url).status_code == 302


def test_empty_states_say_what_to_do(as_: As) -> None:
    assert "Submit job" in as_("member_a").get(URL, {"state": "all"}).content.decode()
    viewer = as_("viewer_a").get(URL, {"state": "all"}).content.decode()
    assert "No jobs yet" in viewer
    assert reverse("scheduling:job_submit") not in viewer
