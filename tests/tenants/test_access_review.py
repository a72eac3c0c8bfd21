"""The access review: all for auditors, their own tenant for owners."""

from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.tenants import services
from console.tenants.models import Project
from tests import factories
from tests.conftest import Actors


def page(actors: Actors, who: str, query: str = "") -> Any:
    client = Client()
    client.force_login(actors.users[who])
    return client.get(f"/access/{query}")


def text_of(answer: Any) -> str:
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()


def test_an_auditor_reviews_everybody(actors: Actors) -> None:
    text = text_of(page(actors, "auditor"))
    for user in actors.users.values():
        assert user.email in text
    assert "operator" in text


@pytest.mark.parametrize("who", ["operator", "finance", "member_a", "viewer_a", "billing_a"])
def test_others_review_nobody(actors: Actors, who: str) -> None:
    assert page(actors, who).status_code == 403
    assert page(actors, who, "?format=csv").status_code == 403
    assert Client().get("/access/").status_code == 302


def test_an_owner_reviews_what_concerns_the_own_tenant(actors: Actors) -> None:
    services.add_member(actors.owner_a, actors.a, actors.users["member_b"], "viewer")
    services.add_member(actors.owner_a, actors.a, actors.users["auditor"], "viewer")
    services.create_token(actors.member_b, name="b", scopes=["jobs:read"], tenant=actors.b)
    for query in ("", "?format=csv"):
        text = text_of(page(actors, "owner_a", query))
        assert "member@aurora.test" in text
        assert "member@boreal.test" in text
        assert "owner@boreal.test" not in text
        assert "boreal/" not in text
        assert ">boreal<" not in text
        assert "weir_" not in text
    rows = text_of(page(actors, "owner_a", "?format=csv")).splitlines()
    assert [row.split(",")[6] for row in rows if row.startswith("auditor@")] == ["viewer"]


def test_a_line_a_role_and_token(actors: Actors) -> None:
    project = Project.objects.get(tenant=actors.a, slug="default")
    services.set_project_role(actors.owner_a, project, actors.users["member_a"], "admin")
    token, _ = services.create_token(actors.member_a, name="x", scopes=["jobs:read", "fleet:read"])
    account = services.create_service_account(actors.owner_a, actors.a, name="nightly", role="member")
    bound, _ = services.create_service_token(actors.owner_a, account, name="ci", scopes=["jobs:read"])
    for who in ("auditor", "owner_a"):
        assert f"weir_{bound.prefix}" in text_of(page(actors, who))
        assert "nightly" in text_of(page(actors, who, "?text=nightly"))
    rows = text_of(page(actors, "auditor", "?format=csv&text=member@aurora")).strip().splitlines()
    assert len(rows) == 4
    assert ",role,member,aurora," in rows[1]
    assert ",role,admin,aurora/default," in rows[2]
    assert rows[2].split(",")[9] == "owner@aurora.test"
    assert f",token,weir_{token.prefix},,".replace(",,", ",") in rows[3].replace(",,", ",")
    assert "fleet:read jobs:read" in rows[3]
    assert page(actors, "auditor", "?format=xlsx").status_code == 200
    assert AuditEntry.objects.filter(action="access.export", actor_label="auditor@example.test").count() == 2


def test_as_many_queries_for_many_as_for_few(actors: Actors, django_assert_num_queries: Any) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.force_login(actors.users["auditor"])
    client.get("/access/")
    with CaptureQueriesContext(connection) as few:
        client.get("/access/")
    for number in range(18):
        factories.make_member(actors.a, "member", f"m{number}@aurora.test")
    with django_assert_num_queries(len(few)):
        client.get("/access/")
