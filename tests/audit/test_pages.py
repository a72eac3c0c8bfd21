"""Who reads which entries, and that filters and exports stay within that."""

import csv
import io
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console.audit.models import AuditEntry
from console.audit.services import record
from tests.conftest import Actors

LIST = "audit:list"


@pytest.fixture
def entries(actors: Actors) -> None:
    record(actors.member_a, "job.submit", ("job", "job_a1"), tenant_id=actors.a.pk, after={"name": "=alpha()"})
    record(actors.member_b, "job.submit", ("job", "job_b1"), tenant_id=actors.b.pk, after={"name": "beta"})
    record(actors.operator, "node.state", ("node", "node_1"), before={"state": "ready"}, after={"state": "cordoned"})


def page(actors: Actors, who: str, **params: Any) -> Any:
    client = Client()
    client.force_login(actors.users[who])
    return client.get(reverse(LIST), params)


def shown(response: Any) -> list[str]:
    return [entry.object_id for entry in response.context["page"].rows if entry.object_type in {"job", "node"}]


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("operator", ["node_1", "job_b1", "job_a1"]),
        ("auditor", ["node_1", "job_b1", "job_a1"]),
        ("owner_a", ["job_a1"]),
        ("owner_b", ["job_b1"]),
    ],
)
def test_each_sees_their_own(actors: Actors, who: str, expected: list[str]) -> None:
    assert shown(page(actors, who)) == expected


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize("who", ["member_a", "viewer_a", "billing_a", "finance"])
def test_others_are_refused(actors: Actors, who: str) -> None:
    assert page(actors, who).status_code == 403
    assert page(actors, who, format="csv").status_code == 403


def test_anonymous_signs_in_first(client: Client, db: None) -> None:
    response = client.get(reverse(LIST))
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


@pytest.mark.usefixtures("entries")
def test_filters(actors: Actors) -> None:
    assert shown(page(actors, "operator", action="node.state")) == ["node_1"]
    assert shown(page(actors, "operator", obj="job_b1")) == ["job_b1"]
    assert shown(page(actors, "operator", actor="aurora")) == ["job_a1"]
    assert shown(page(actors, "operator", tenant="aurora")) == ["job_a1"]
    assert shown(page(actors, "operator", since="2100-01-01")) == []
    assert shown(page(actors, "operator", until="2100-01-01", action="job.submit")) == ["job_b1", "job_a1"]
    assert shown(page(actors, "owner_a", obj="job_b1")) == []
    # another's tenant and one that does not exist are the same
    assert shown(page(actors, "owner_a", tenant="boreal")) == shown(page(actors, "owner_a", tenant="no-such")) == []


@pytest.mark.usefixtures("entries")
def test_bad_filters_show_an_error_and_no_rows(actors: Actors) -> None:
    response = page(actors, "operator", since="yesterday")
    assert response.status_code == 422
    assert shown(response) == []
    assert b"since" in response.content


@pytest.mark.usefixtures("entries")
def test_export_is_what_the_page_shows(actors: Actors) -> None:
    response = page(actors, "owner_a", format="csv")
    body = b"".join(response.streaming_content).decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(body, newline="")))
    assert [line["object_id"] for line in lines] == ["job_a1"]


@pytest.mark.usefixtures("entries")
def test_one_entry_and_its_changes(actors: Actors) -> None:
    entry = AuditEntry.objects.get(object_id="node_1")
    client = Client()
    client.force_login(actors.users["operator"])
    response = client.get(reverse("audit:entry", args=[entry.public_id]))
    assert response.context["changes"] == [("state", "ready", "cordoned")]
    client.force_login(actors.users["owner_a"])
    assert client.get(reverse("audit:entry", args=[entry.public_id])).status_code == 404


def test_same_query_count_for_few_and_many(actors: Actors) -> None:
    client = Client()
    client.force_login(actors.users["operator"])

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            client.get(reverse(LIST))
        return len(seen)

    record(actors.member_a, "job.submit", ("job", "job_x"), tenant_id=actors.a.pk)
    record(actors.member_b, "job.submit", ("job", "job_y"), tenant_id=actors.b.pk)
    queries()
    few = queries()
    for number in range(18):
        record(actors.member_a, "job.submit", ("job", f"job_{number}"), tenant_id=actors.a.pk)
    assert queries() == few
