"""Web 18: with 100,000 finished jobs the list is as quick as with few, at its start and deep inside."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common.listing import keyset
from pool.scheduling import queries
from pool.scheduling.models import Job
from tests.api.conftest import Api
from tests.conformance.finished import finish, work
from tests.conftest import Actors

JOBS = 100_000
# hundreds of steps; rows. PostgreSQL's planner may walk down the primary key once, past another tenant's newer jobs
# or names without the text
MOST = {"sqlite": 2_000, "postgresql": JOBS + 1_000}


@pytest.fixture
def history(actors: Actors) -> None:
    finish(actors.a, 1, JOBS // 2)
    finish(actors.b, JOBS // 2 + 1, JOBS)


@pytest.mark.usefixtures("history", "live")
def test_the_list_stays_quick(api: Callable[..., Api], actors: Actors) -> None:
    member, operator = api("member_a"), api("operator")
    deep = keyset(Job.objects.filter(pk__lt=Job.objects.order_by("pk")[JOBS // 10].pk), size=50).after
    for name, call in {
        "first page": lambda: member.get("jobs"),
        "deep page": lambda: member.get("jobs", cursor=deep),
        "of one state": lambda: member.get("jobs", state="succeeded"),
        "of all tenants": lambda: operator.get("jobs"),
        "by text": lambda: operator.get("jobs", text="job-77"),
    }.items():
        call()
        with work() as done:
            answer = call()
            spent = done()
        assert len(answer.json()["results"]) == 50, name
        assert spent < MOST[connection.vendor], f"{name}: {spent}"


@pytest.mark.usefixtures("history")
def test_a_page_is_read_from_an_index(actors: Actors) -> None:
    """Not by sorting all rows: the plan says so, whatever the machine is doing."""
    with CaptureQueriesContext(connection) as seen:
        keyset(queries.jobs_for(actors.member_a))
    sql = seen.captured_queries[-1]["sql"]
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("EXPLAIN QUERY PLAN " + sql)
            plan = "\n".join(str(row) for row in cursor.fetchall())
            assert "TEMP B-TREE" not in plan, plan
        else:
            cursor.execute("EXPLAIN " + sql)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan on scheduling_job" not in plan, plan
