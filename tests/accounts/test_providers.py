"""Setting up an OpenID provider: what is refused, and who may do what."""

from typing import Any

import pytest
from django.test import Client

from console.accounts.models import GroupRole, OidcProvider
from console.accounts.services import providers
from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from tests.conftest import Actors

GOOD = {"name": "Corp", "issuer": "https://login.example.com", "client_id": "weir"}
FORM = {**GOOD, "secret": "s3cret", "scopes": "openid email", "groups_claim": "groups", "enabled": "on"}
LIST = "/settings/providers/"


def as_(actors: Actors, who: str) -> Client:
    client = Client()
    client.force_login(actors.users[who])
    return client


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"issuer": "http://login.example.com"}, "issuer"),
        ({"issuer": "https://127.0.0.1"}, "issuer"),
        ({"issuer": "https://10.0.0.1:8443"}, "issuer"),
        ({"issuer": "nonsense"}, "issuer"),
        ({"name": " "}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"client_id": ""}, "client_id"),
        ({"client_id": "a\0b"}, "client_id"),
        ({"scopes": "email"}, "scopes"),
        ({"domains": ["nodot"]}, "domains"),
        ({"domains": ["a b.com"]}, "domains"),
        ({"secret": ""}, "secret"),
        ({"color": "red"}, "color"),
    ],
)
def test_bad_ones_are_refused_and_nothing_is_stored(actors: Actors, more: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        providers.create_provider(actors.operator, None, **{"secret": "s", **GOOD, **more})
    assert field in {error.field for error in refusal.value.errors}
    assert not OidcProvider.objects.exists()
    assert not AuditEntry.objects.filter(action__startswith="oidc").exists()


def test_owners_set_up_their_own_but_not_for_whom_it_speaks(actors: Actors) -> None:
    made = providers.create_provider(actors.owner_a, actors.a, secret="s", **GOOD)
    for more in ({"domains": ["aurora.example"]}, {"brings_second_factor": True}):
        with pytest.raises(InvalidInput):
            providers.change_provider(actors.owner_a, made, **more)
    made.refresh_from_db()
    assert (made.domains, made.brings_second_factor) == ([], False)
    providers.change_provider(actors.operator, made, domains=["aurora.example"])
    entry = AuditEntry.objects.get(action="oidc_provider.change")
    assert (entry.tenant_id, '"domains":["aurora.example"]' in entry.text) == (actors.a.pk, True)
    for who in (actors.owner_b, actors.member_a, actors.auditor, actors.finance):
        with pytest.raises(NotAllowed):
            providers.change_provider(who, made, name="Mine")
        with pytest.raises(NotAllowed):
            providers.map_group(who, made, "g", "viewer", actors.a)
        with pytest.raises(NotAllowed):
            providers.delete_provider(who, made)
    for who in (actors.owner_a, actors.auditor):
        with pytest.raises(NotAllowed):
            providers.create_provider(who, None, secret="s", **GOOD)


def test_groups(actors: Actors) -> None:
    made = providers.create_provider(actors.operator, None, secret="s", **GOOD)
    mapping = providers.map_group(actors.operator, made, "g", "viewer", actors.a)
    with pytest.raises(Conflict):
        providers.map_group(actors.operator, made, "g", "owner", actors.a)
    providers.map_group(actors.operator, made, "g", "owner", actors.b)
    for group, role in (("", "viewer"), ("x" * 201, "viewer"), ("g2", "king"), ("g2", "operator")):
        with pytest.raises(InvalidInput):
            providers.map_group(actors.operator, made, group, role, actors.a)
    providers.unmap_group(actors.operator, mapping)
    providers.unmap_group(actors.operator, mapping)
    assert AuditEntry.objects.filter(action="oidc_group.unmap").count() == 1
    assert GroupRole.objects.count() == 1


def test_the_same_again_is_no_change(actors: Actors) -> None:
    made = providers.create_provider(system("test"), None, secret="s", **GOOD)
    providers.change_provider(actors.operator, made, **GOOD)
    assert not AuditEntry.objects.filter(action="oidc_provider.change").exists()
    kept = made.secret
    providers.change_provider(actors.operator, made, secret="another")
    assert made.secret != kept
    assert "another" not in AuditEntry.objects.get(action="oidc_provider.change").text


def test_the_pages_of_an_operator(actors: Actors) -> None:
    client = as_(actors, "operator")
    wrong = client.post(f"{LIST}new/", {**FORM, "issuer": "https://localhost"})
    assert (wrong.status_code, "private network" in wrong.content.decode()) == (422, True)
    made = client.post(f"{LIST}new/", {**FORM, "domains": "Aurora.example boreal.example"})
    provider = OidcProvider.objects.get()
    assert made["Location"] == f"{LIST}{provider.public_id}/"
    assert provider.domains == ["aurora.example", "boreal.example"]
    page = client.get(made["Location"]).content.decode()
    assert f"/accounts/oidc/{provider.public_id}/login/callback/" in page
    assert "s3cret" not in page
    client.post(f"{made['Location']}groups", {"group": "g", "tenant": "aurora", "role": "viewer"})
    mapping = GroupRole.objects.get()
    assert (
        client.post(f"{made['Location']}groups", {"group": "", "tenant": "aurora", "role": "viewer"}).status_code == 422
    )
    client.post(f"{made['Location']}groups/{mapping.public_id}/remove")
    assert not GroupRole.objects.exists()
    changed = client.post(made["Location"], {**FORM, "secret": "", "name": "Corp 2", "enabled": ""})
    assert changed.status_code == 302
    provider.refresh_from_db()
    assert (provider.name, provider.enabled, providers.open_secret(provider)) == ("Corp 2", False, "s3cret")
    assert client.post(f"{made['Location']}delete").status_code == 302
    assert not OidcProvider.objects.exists()


def test_an_owner_sees_their_own_only_and_an_auditor_looks(actors: Actors) -> None:
    client = as_(actors, "owner_a")
    made = client.post(f"{LIST}new/", {**FORM, "tenant": "aurora", "domains": "aurora.example"})
    provider = OidcProvider.objects.get()
    assert (made.status_code, provider.tenant_id, provider.domains) == (302, actors.a.pk, [])
    assert client.post(f"{LIST}new/", {**FORM, "tenant": "boreal"}).status_code == 422
    assert client.post(f"{LIST}new/", {**FORM, "tenant": ""}).status_code == 403
    assert as_(actors, "owner_b").get(f"{LIST}{provider.public_id}/").status_code == 404
    looks = as_(actors, "auditor")
    assert "Delete the provider" not in looks.get(f"{LIST}{provider.public_id}/").content.decode()
    assert looks.post(f"{LIST}{provider.public_id}/", FORM).status_code == 403
    assert looks.get(f"{LIST}new/").status_code == 403
