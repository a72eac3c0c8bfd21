"""Accounts, tenants and memberships: who may make what, and that nobody lifts themselves."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants import services
from console.tenants.models import Membership, Project, Tenant, User
from tests.conftest import Actors

ROOT = system("test")


def test_an_account_is_known_by_its_address(db: None) -> None:
    user = services.create_user(ROOT, " Ada@Example.COM ", platform_role="operator")
    assert (user.email, user.username, user.has_usable_password()) == ("ada@example.com", user.public_id, False)
    assert AuditEntry.objects.get(action="user.create").object_id == user.public_id
    with pytest.raises(Conflict):
        services.create_user(ROOT, "ADA@example.com")


@pytest.mark.parametrize("who", ["member_a", "owner_a", "finance", "auditor"])
def test_only_operators_make_accounts_and_tenants(actors: Actors, who: str) -> None:
    with pytest.raises(NotAllowed):
        services.create_user(getattr(actors, who), "x@example.com")
    with pytest.raises(NotAllowed):
        services.create_tenant(getattr(actors, who), "x", "X")


def test_no_role_hands_out_another_power(actors: Actors) -> None:
    for role in ("operator", "finance", "auditor"):
        with pytest.raises(NotAllowed):
            services.create_user(actors.operator, "x@example.com", platform_role=role)
    assert not User.objects.filter(email="x@example.com").exists()


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"email": "nobody"}, "email"),
        ({"email": ""}, "email"),
        ({"password": "short"}, "password"),
        ({"password": "password1234"}, "password"),
        ({"platform_role": "root"}, "platform_role"),
    ],
)
def test_bad_accounts(db: None, more: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        services.create_user(ROOT, **{"email": "a@example.com", **more})
    assert refusal.value.errors[0].field == field
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("slug", "name", "more", "field"),
    [
        ("a b", "A", {}, "slug"),
        ("", "A", {}, "slug"),
        ("a" * 65, "A", {}, "slug"),
        ("a", " ", {}, "name"),
        ("a", "A", {"currency": "yuan"}, "currency"),
        ("a", "A", {"time_zone": "Mars/Base"}, "time_zone"),
        ("a", "A", {"limit_share_bp": -1}, "limit_share_bp"),
        ("a", "A", {"color": "red"}, "color"),
    ],
)
def test_bad_tenants(db: None, slug: str, name: str, more: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        services.create_tenant(ROOT, slug, name, **more)
    assert refusal.value.errors[0].field == field
    assert not Tenant.objects.exists()


def test_an_owner_adds_others_but_never_changes_themselves(actors: Actors) -> None:
    services.add_member(actors.owner_a, actors.a, actors.users["member_b"], "viewer")
    assert Membership.objects.get(user=actors.users["member_b"], tenant=actors.a).role == "viewer"
    services.add_member(actors.owner_a, actors.a, actors.users["member_b"], "member")
    entry = AuditEntry.objects.get(action="member.change")
    assert '"before":{"role":"viewer"}' in entry.text
    with pytest.raises(NotAllowed):
        services.add_member(actors.owner_a, actors.a, actors.users["owner_a"], "billing")
    with pytest.raises(NotAllowed):
        services.add_member(actors.member_a, actors.a, actors.users["member_b"], "owner")
    with pytest.raises(NotAllowed):
        services.add_member(actors.owner_b, actors.a, actors.users["member_b"], "owner")
    with pytest.raises(InvalidInput):
        services.add_member(actors.owner_a, actors.a, actors.users["member_b"], "king")


def test_the_same_role_again_is_no_change(actors: Actors) -> None:
    services.add_member(actors.owner_a, actors.a, actors.users["member_a"], "member")
    assert not AuditEntry.objects.filter(action__startswith="member.").exists()


def test_projects_belong_to_owners(actors: Actors) -> None:
    services.create_project(actors.owner_a, actors.a, "vision", "Vision")
    with pytest.raises(Conflict):
        services.create_project(actors.owner_a, actors.a, "vision", "Vision")
    with pytest.raises(NotAllowed):
        services.create_project(actors.member_a, actors.a, "nlp", "NLP")
    assert Project.objects.filter(tenant=actors.a).count() == 2


def test_profile(actors: Actors) -> None:
    user = actors.users["member_a"]
    services.update_profile(actors.member_a, user, language="zh-hans", theme="dark", time_zone="Asia/Shanghai")
    user.refresh_from_db()
    assert (user.language, user.theme, user.time_zone) == ("zh-hans", "dark", "Asia/Shanghai")
    with pytest.raises(NotAllowed):
        services.update_profile(actors.member_b, user, language="en", theme="", time_zone="")
    for wrong in ({"language": "xx"}, {"theme": "pink"}, {"time_zone": "Nowhere"}):
        with pytest.raises(InvalidInput):
            services.update_profile(actors.member_a, user, **{"language": "", "theme": "", "time_zone": "", **wrong})


def test_commands(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_tenant", "aurora", "Aurora Labs")
    call_command("create_user", "ada@example.com", member=["aurora:owner"])
    assert Membership.objects.get().role == "owner"
    assert "/signin/" in capsys.readouterr().out
    call_command("sign_in_link", "ada@example.com")
    assert capsys.readouterr().out.startswith("/signin/")
    with pytest.raises(CommandError, match="no active account"):
        call_command("sign_in_link", "eve@example.com")
    with pytest.raises(CommandError, match="was not found"):
        call_command("create_user", "eve@example.com", member=["nowhere:owner"])
    assert not User.objects.filter(email="eve@example.com").exists()
