"""Web case 18: with 100,000 finished jobs the lists do no more work than with 1,000, whatever the tab.

On SQLite the work is counted in steps of its virtual machine, so that the verdict does not depend on the machine.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pool.scheduling.models import Job, JobState
from tests import factories
from tests.conftest import Actors

HISTORY = 100_000
SLACK = {"sqlite": 50, "postgresql": 150}  # hundreds of steps; milliseconds
PAGES = (
    "/jobs/?state=active",
    "/jobs/?state=queued",
    "/jobs/?state=finished",
    "/jobs/?state=failed",
    "/jobs/?state=all",
    "/queues/",
)


def _finish(actors: Actors, first: int, last: int) -> None:
    """Finished jobs number `first` to `last` of tenant A, copied from one by the database itself."""
    one = factories.make_job(actors.a, name=f"past-{first}", state=JobState.SUCCEEDED)
    columns = ", ".join(f.column for f in Job._meta.concrete_fields if f.column not in {"id", "public_id"})
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO scheduling_job (public_id, {columns})"
            f" WITH RECURSIVE n(i) AS (SELECT CAST(%s AS integer) UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            f" SELECT 'job_past' || n.i, {columns} FROM n, scheduling_job WHERE scheduling_job.id = %s",
            [first, last, one.pk],
        )
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE scheduling_job")  # as the server itself does a minute later


@contextmanager
def _work() -> Iterator[Callable[[], float]]:
    """Steps of SQLite's machine, in hundreds; milliseconds on other databases."""
    if connection.vendor != "sqlite":
        began = time.perf_counter()
        yield lambda: (time.perf_counter() - began) * 1000
        return
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.ensure_connection()
    connection.connection.set_progress_handler(count, 100)
    try:
        yield lambda: steps
    finally:
        connection.connection.set_progress_handler(None, 0)


def _look(client: Client, page: str) -> tuple[int, float]:
    """(queries, work) of one page, the median of three."""
    works = []
    for _ in range(3):
        with _work() as work, CaptureQueriesContext(connection) as captured:
            assert client.get(page).status_code == 200
            works.append(work())
    return len(captured), median(works)


@pytest.mark.parametrize("person", ["member_a", "operator"])
def test_lists_do_no_more_work_with_a_long_history(actors: Actors, person: str) -> None:
    client = Client()
    client.force_login(actors.users[person])
    for state in (JobState.RUNNING, JobState.QUEUED, JobState.FAILED):
        factories.make_job(actors.a, name=f"one-{state}", state=state)
    _finish(actors, 1, 1_000)
    few = {page: _look(client, page) for page in PAGES}
    _finish(actors, 1_001, HISTORY)
    many = {page: _look(client, page) for page in PAGES}
    for page in PAGES:
        assert many[page][0] == few[page][0], f"{page}: another number of queries"
        assert many[page][1] < 1.5 * few[page][1] + SLACK[connection.vendor], (
            f"{page}: work {few[page][1]} became {many[page][1]}"
        )


def test_a_page_deep_in_the_history_is_as_little_work(actors: Actors) -> None:
    client = Client()
    client.force_login(actors.users["member_a"])
    _finish(actors, 1, 20_000)
    first = _look(client, "/jobs/?state=all")
    page = client.get("/jobs/", {"state": "all"}).context["page"]
    for _ in range(30):
        page = client.get("/jobs/", {"state": "all", "after": page.after}).context["page"]
    assert len(page.rows) == 50
    assert _look(client, f"/jobs/?state=all&after={page.after}")[1] < 1.5 * first[1] + SLACK[connection.vendor]


@pytest.mark.parametrize("tab", ["finished", "all"])
def test_a_long_history_is_counted_to_a_thousand_only(actors: Actors, tab: str) -> None:
    client = Client()
    client.force_login(actors.users["member_a"])
    _finish(actors, 1, 1_500)
    assert '<span class="num">999+</span>' in client.get("/jobs/", {"state": tab}).content.decode()
