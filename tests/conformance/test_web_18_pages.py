"""Web case 18: with 100,000 finished jobs the lists do no more work than with 1,000, whatever the tab.

The work is counted in steps and rows of the database, so that the verdict does not depend on the machine.
"""

from statistics import median

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pool.scheduling.models import JobState
from tests import factories
from tests.conformance.finished import finish, work
from tests.conftest import Actors

HISTORY = 100_000
# hundreds of steps; rows. PostgreSQL's planner may walk down the primary key to rows of a rare state or an older
# tenant: 30 ms, once or twice a page, and never a sort of all or a walk for each row
SLACK = {"sqlite": 50, "postgresql": 3 * HISTORY}
PAGES = (
    "/jobs/?state=active",
    "/jobs/?state=queued",
    "/jobs/?state=finished",
    "/jobs/?state=failed",
    "/jobs/?state=all",
    "/queues/",
)


def _look(client: Client, page: str) -> tuple[int, float]:
    """(queries, work) of one page, the median of three."""
    works = []
    for _ in range(3):
        with work() as done, CaptureQueriesContext(connection) as captured:
            assert client.get(page).status_code == 200
            works.append(done())
    return len(captured), median(works)


def test_lists_do_no_more_work_with_a_long_history(actors: Actors) -> None:
    people = {name: Client() for name in ("member_a", "operator")}
    for name, client in people.items():
        client.force_login(actors.users[name])
    for state in (JobState.RUNNING, JobState.QUEUED, JobState.FAILED):
        factories.make_job(actors.a, name=f"one-{state}", state=state)
    looks = [(name, page) for name in people for page in PAGES]
    finish(actors.a, 1, 1_000)
    few = {(name, page): _look(people[name], page) for name, page in looks}
    finish(actors.a, 1_001, HISTORY)
    many = {(name, page): _look(people[name], page) for name, page in looks}
    for look in looks:
        assert many[look][0] == few[look][0], f"{look}: another number of queries"
        assert many[look][1] < 1.5 * few[look][1] + SLACK[connection.vendor], (
            f"{look}: work {few[look][1]} became {many[look][1]}"
        )


def test_a_page_deep_in_the_history_is_as_little_work(actors: Actors) -> None:
    client = Client()
    client.force_login(actors.users["member_a"])
    finish(actors.a, 1, 20_000)
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
    finish(actors.a, 1, 1_500)
    assert '<span class="num">999+</span>' in client.get("/jobs/", {"state": tab}).content.decode()
