"""API tokens: shape, shown once, scopes, narrowing, expiry, revocation."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.common import clock
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants import queries, secrets, services
from console.tenants.models import ApiToken, Membership
from tests.conftest import Actors

ME = "/api/v1/me"


def make(actors: Actors, who: str = "member_a", **more: Any) -> tuple[ApiToken, str]:
    facts: dict[str, Any] = {"name": "ci", "scopes": ["jobs:read"], **more}
    return services.create_token(getattr(actors, who), **facts)


def call(secret: str, path: str = ME) -> Any:
    return Client().get(path, headers={"Authorization": f"Bearer {secret}"})


def test_shape_of_a_secret() -> None:
    secret = secrets.new_token()
    assert secret.text.startswith(f"weir_{secret.prefix}_")
    assert len(secret.prefix) == 8
    assert secrets.well_formed(secret.text)
    changed = secret.text[:-8] + ("a" if secret.text[-8] != "a" else "b") + secret.text[-7:]
    assert not secrets.well_formed(changed)
    assert len({secrets.new_token().text for _ in range(100)}) == 100


def test_only_the_digest_is_kept_and_the_making_is_audited(actors: Actors) -> None:
    token, secret = make(actors)
    row = ApiToken.objects.values().get()
    assert secret not in str(row)
    assert row["digest"] == secrets.digest(secret)
    entry = AuditEntry.objects.get(action="token.create")
    assert secret.split("_")[2] not in entry.text
    assert entry.object_id == token.public_id


def test_it_acts_for_its_person(actors: Actors) -> None:
    _, secret = make(actors)
    body = call(secret).json()
    assert body["email"] == "member@aurora.test"
    assert body["scopes"] == ["jobs:read"]
    assert [(one["slug"], one["role"]) for one in body["tenants"]] == [("aurora", "member")]


def test_scopes_bind(actors: Actors) -> None:
    _, secret = make(actors)
    assert call(secret, "/api/v1/jobs").status_code == 200
    refused = call(secret, "/api/v1/nodes")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")


def test_bound_to_a_tenant_it_reaches_no_other(actors: Actors) -> None:
    Membership.objects.create(user=actors.users["member_a"], tenant=actors.b, role="member")
    person = queries.actor_for_user(actors.users["member_a"])
    _, secret = services.create_token(person, name="x", scopes=["jobs:read", "tokens:write"], tenant=actors.a)
    assert [one["slug"] for one in call(secret).json()["tenants"]] == ["aurora"]
    token = ApiToken.objects.get()
    child, _ = services.create_token(queries.actor_for_token(token), name="child", scopes=["jobs:read"])
    assert child.tenant_id == actors.a.pk


def test_an_operators_bound_token_is_no_operator(actors: Actors) -> None:
    Membership.objects.create(user=actors.users["operator"], tenant=actors.a, role="viewer")
    person = queries.actor_for_user(actors.users["operator"])
    token, _ = services.create_token(person, name="x", scopes=["jobs:read"], tenant=actors.a)
    narrow = queries.actor_for_token(token)
    assert (narrow.platform_role, narrow.sees_all_work) == (None, False)


def test_a_token_makes_only_narrower_ones(actors: Actors) -> None:
    token, _ = make(actors, scopes=["jobs:read", "tokens:write"])
    with pytest.raises(InvalidInput, match="more than your own token has"):
        services.create_token(queries.actor_for_token(token), name="x", scopes=["jobs:write"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"days": 0}, "days"),
        ({"days": 367}, "days"),
    ],
)
def test_bad_input_names_the_field_and_makes_nothing(actors: Actors, change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        make(actors, **change)
    assert {error.field for error in refusal.value.errors} == {field}
    assert not ApiToken.objects.exists()


def test_a_foreign_tenant_is_refused(actors: Actors) -> None:
    with pytest.raises(InvalidInput):
        make(actors, tenant=actors.b)


def test_the_system_has_no_tokens(db: None) -> None:
    with pytest.raises(NotAllowed):
        services.create_token(system("x"), name="x", scopes=["jobs:read"])


def test_there_is_an_end_to_how_many(actors: Actors) -> None:
    for _ in range(50):
        make(actors)
    with pytest.raises(Conflict):
        make(actors)


def test_revoked_expired_or_of_a_disabled_person_it_is_unknown(actors: Actors) -> None:
    token, secret = make(actors)
    answers = [call("weir_nonsense"), call(secret[:-1] + "~")]
    ApiToken.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    answers.append(call(secret))
    ApiToken.objects.update(expires_at=None)
    assert call(secret).status_code == 200
    actors.users["member_a"].is_active = False
    actors.users["member_a"].save()
    answers.append(call(secret))
    actors.users["member_a"].is_active = True
    actors.users["member_a"].save()
    services.revoke_token(actors.member_a, token)
    answers.append(call(secret))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.json()["detail"] for answer in answers}) == 1
    assert answers[0]["WWW-Authenticate"] == 'Bearer realm="weir"'


def test_revoking_twice_is_one_entry(actors: Actors) -> None:
    token, _ = make(actors)
    services.revoke_token(actors.member_a, token)
    services.revoke_token(actors.member_a, ApiToken.objects.get())
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1


def test_anothers_token_is_not_to_be_had(actors: Actors) -> None:
    token, _ = make(actors)
    with pytest.raises(NotAllowed):
        services.revoke_token(actors.member_b, token)
    assert queries.tokens_for(actors.member_b).count() == 0


def test_last_use_is_noted_at_most_once_a_minute(actors: Actors) -> None:
    _, secret = make(actors)
    call(secret)
    first = ApiToken.objects.get().last_used_at
    call(secret)
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=clock.now() - timedelta(seconds=61))
    call(secret)
    assert ApiToken.objects.get().last_used_at > first  # type: ignore[operator]


def test_membership_in_a_closed_tenant_counts_for_nothing(actors: Actors) -> None:
    _, secret = make(actors)
    actors.a.state = "closed"
    actors.a.save()
    assert call(secret).json()["tenants"] == []
