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
from tests.conformance.finished import finish, lived, work
from tests.conftest import Actors

HISTORY = 100_000
# hundreds of steps; rows. PostgreSQL's planner may walk down the primary key to rows of a rare state or an older
# tenant: 30 ms, once or twice a page, and never a sort of all or a walk for each row
SLACK = {"sqlite": 50, "postgresql": HISTORY // 10}
JOINED = {"sqlite": 0, "postgresql": 10_000}  # so few jobs PostgreSQL may read whole to join them
BOUND = 10_000  # more rows of each kind than an overview looks at
PAGES = (
    "/jobs/?state=active",
    "/jobs/?state=queued",
    "/jobs/?state=finished",
    "/jobs/?state=failed",
    "/jobs/?state=all",
    "/queues/",
    "/",
    "/?jobs=finished",
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


def test_the_overview_reads_the_end_of_what_happened(actors: Actors) -> None:
    """Waits, releases and events are looked for among the newest: with twice the history it is no more work."""
    people = {name: Client() for name in ("member_a", "operator")}
    spent: dict[str, list[float]] = {name: [] for name in people}
    newest = 0
    for first, last in ((1, BOUND), (BOUND + 1, 2 * BOUND)):
        finish(actors.a, first, last)
        newest = lived(newest)
        for name, client in people.items():
            client.force_login(actors.users[name])
            spent[name].append(_look(client, "/")[1])
    for name, (few, many) in spent.items():
        assert many < 1.2 * few + JOINED[connection.vendor], f"{name}: work {few} became {many}"


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
