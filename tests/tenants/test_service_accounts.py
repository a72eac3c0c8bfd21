"""Service accounts: tokens only, of one tenant or one project, no way to sign in."""

from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants import queries, services
from console.tenants.models import ApiToken, Project, ServiceAccount
from tests import factories
from tests.conftest import Actors

JOB: dict[str, Any] = {"name": "one", "tenant": "aurora", "command": ["true"], "gpus": 1}


def make(actors: Actors, who: str = "owner_a", **more: Any) -> ServiceAccount:
    facts: dict[str, Any] = {"name": "nightly", "role": "member", **more}
    return services.create_service_account(getattr(actors, who), actors.a, **facts)


def token(actors: Actors, account: ServiceAccount, *scopes: str) -> tuple[ApiToken, str]:
    return services.create_service_token(actors.owner_a, account, name="ci", scopes=scopes or ("jobs:read",))


def post(secret: str, path: str, body: dict[str, Any], key: str) -> Any:
    headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": key}
    return Client().post(path, body, content_type="application/json", headers=headers)


def test_its_token_works_in_its_tenant(actors: Actors) -> None:
    factories.make_node(devices=1)
    _, secret = token(actors, make(actors), "jobs:read", "jobs:write")
    me = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).json()
    assert [(one["slug"], one["role"]) for one in me["tenants"]] == [("aurora", "member")]
    assert post(secret, "/api/v1/jobs", JOB, "a").status_code == 201
    assert post(secret, "/api/v1/jobs", JOB | {"tenant": "boreal"}, "b").status_code == 422


def test_of_a_project_it_works_there_only(actors: Actors) -> None:
    factories.make_node(devices=1)
    factories.make_project(actors.a, "other")
    account = make(actors, project=Project.objects.get(tenant=actors.a, slug="default"))
    _, secret = token(actors, account, "jobs:read", "jobs:write")
    assert post(secret, "/api/v1/jobs", JOB, "a").status_code == 201
    assert post(secret, "/api/v1/jobs", JOB | {"project": "other"}, "b").status_code == 403


def test_nobody_signs_in_as_one(actors: Actors) -> None:
    account = make(actors)
    with pytest.raises(NotAllowed):
        services.create_sign_in_link(account.user)
    client = Client()
    client.force_login(account.user)  # whatever way a session came to be
    assert client.get("/jobs/").status_code == 302
    assert client.get("/api/v1/me").status_code == 401
    assert not account.user.has_usable_password()
    with pytest.raises(InvalidInput):
        services.add_member(actors.operator, actors.a, account.user, "owner")


def test_its_tokens_are_for_work(actors: Actors) -> None:
    account = make(actors)
    for scope in ("tokens:write", "billing:write", "fleet:write", "people:write", "root"):
        with pytest.raises(InvalidInput) as refusal:
            token(actors, account, scope)
        assert refusal.value.errors[0].field == "scopes"
    row, secret = token(actors, account)
    assert (row.tenant_id, row.expires_at is not None) == (actors.a.pk, True)
    with pytest.raises(NotAllowed):  # it makes no tokens for itself
        services.create_token(queries.actor_for_token(row), name="x", scopes=["jobs:read"])
    assert secret not in str(ApiToken.objects.values().get())


def test_who_manages_them(actors: Actors) -> None:
    for who in ("member_a", "viewer_a", "billing_a", "owner_b", "finance", "auditor"):
        with pytest.raises(NotAllowed):
            make(actors, who)
    project = Project.objects.get(tenant=actors.a, slug="default")
    services.set_project_role(actors.owner_a, project, actors.users["member_a"], "admin")
    admin = queries.actor_for_user(actors.users["member_a"])
    account = services.create_service_account(admin, actors.a, name="p", role="member", project=project)
    row, _ = services.create_service_token(admin, account, name="t", scopes=["jobs:read"])
    with pytest.raises(NotAllowed):
        services.create_service_account(admin, actors.a, name="q", role="member")
    services.revoke_token(admin, queries.revocable_token(admin, row.public_id))
    row.refresh_from_db()
    assert row.revoked_at is not None
    whole = make(actors)
    assert list(queries.service_accounts_of(admin, actors.a)) == [account]
    assert set(queries.service_accounts_of(actors.owner_a, actors.a)) == {account, whole}


def test_closing_ends_its_tokens_once(actors: Actors) -> None:
    account = make(actors)
    _, secret = token(actors, account)
    services.close_service_account(actors.owner_a, account)
    services.close_service_account(actors.owner_a, ServiceAccount.objects.get())
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert AuditEntry.objects.filter(action="service_account.close").count() == 1
    with pytest.raises(Conflict):
        token(actors, account)
    with pytest.raises(Conflict):
        make(actors)  # names are not used twice: the log would name two


def test_the_pages_show_a_secret_once(actors: Actors) -> None:
    client = Client()
    client.force_login(actors.users["owner_a"])
    path = f"/tenants/{actors.a.public_id}/services/"
    assert client.post(path, {"name": "nightly", "role": "member", "project": ""}).status_code == 302
    account = ServiceAccount.objects.get()
    body = {"account": account.public_id, "name": "ci", "scopes": ["jobs:read"], "days": "30"}
    page = client.post(f"{path}token", body).content.decode()
    prefix = ApiToken.objects.get().prefix
    assert f'value="weir_{prefix}_' in page
    again = client.get(path).content.decode()
    assert f"weir_{prefix}" in again
    assert f"weir_{prefix}_" not in again
    assert b"nightly" in b"".join(client.get(f"{path}?format=csv").streaming_content)
