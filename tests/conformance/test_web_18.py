"""Web 18: with 100,000 finished jobs the list is as quick as with few, at its start and deep inside."""

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common import clock
from console.common.listing import keyset
from pool.scheduling import queries
from pool.scheduling.models import Job
from tests import factories
from tests.api.conftest import Api
from tests.conftest import Actors

JOBS = 100_000
BUDGET_S = 0.5  # of processor time, for one answer with 50 rows


@pytest.fixture
def history(actors: Actors) -> None:
    now = clock.now()
    for tenant in (actors.a, actors.b):
        first = factories.make_job(tenant)
        common = {
            "tenant": tenant,
            "project": first.project,
            "queue": first.queue,
            "spec": {},
            "command": ["true"],
            "created_at": now,
            "queued_at": now,
            "finished_at": now,
            "state": "succeeded",
        }
        rows = (Job(name=f"job-{number}", **common) for number in range(JOBS // 2))
        Job.objects.bulk_create(rows, batch_size=2000)


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
        began = time.process_time()
        answer = call()
        spent = time.process_time() - began
        assert len(answer.json()["results"]) == 50, name
        assert spent < BUDGET_S, f"{name}: {spent:.3f} s"


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
            cursor.execute("ANALYZE scheduling_job")
            cursor.execute("EXPLAIN " + sql)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan on scheduling_job" not in plan, plan
