"""Signing in through a real OpenID provider: groups become roles, and what is gone there is taken away here."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from console.accounts import services as signing
from console.accounts.models import BrowserSession, OidcGrant, OidcProvider
from console.accounts.services import providers
from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import NotAllowed
from console.tenants.models import Membership, User
from tests import factories
from tests.conftest import Actors
from tests.identity.running import CLIENT, SECRET, Identity, running

ROOT = system("test")
HOST = "http://testserver"
EMAIL = "ada@aurora.example"
pytestmark = [pytest.mark.usefixtures("live"), pytest.mark.processes, pytest.mark.once]


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Identity]:
    with running(tmp_path_factory.mktemp("identity")) as found:
        yield found


@pytest.fixture
def provider(identity: Identity, actors: Actors, settings: Any) -> OidcProvider:
    """The installation's, with researchers who are members of aurora and heads who own it."""
    settings.WEIR_OUTBOUND_PRIVATE = True
    made = make(identity)
    providers.map_group(actors.operator, made, "researchers", "member", actors.a)
    providers.map_group(actors.operator, made, "heads", "owner", actors.a)
    return made


def make(identity: Identity, tenant: Any = None, **more: Any) -> OidcProvider:
    facts = {"name": "Corp", "issuer": identity.issuer, "client_id": CLIENT, "domains": ["aurora.example"], **more}
    made = providers.create_provider(ROOT, tenant, secret=SECRET, **facts)
    identity.client(f"{HOST}/accounts/oidc/{made.public_id}/login/callback/")
    return made


def go(
    identity: Identity, provider: OidcProvider, email: str = EMAIL, client: Client | None = None
) -> tuple[Client, Any]:
    """The whole way; the answer to the way back."""
    client = client or Client()
    leaving = client.get(f"/accounts/oidc/{provider.public_id}/login/?next=/jobs/")
    back = identity.sign_in(leaving["Location"], email)
    return client, client.get(back.removeprefix(HOST))


def roles(email: str = EMAIL) -> dict[str, str]:
    return dict(Membership.objects.filter(user__email=email).values_list("tenant__slug", "role"))


def test_a_new_person_comes_in_with_the_roles_of_their_groups(identity: Identity, provider: OidcProvider) -> None:
    identity.person(EMAIL, "researchers", "canteen")
    client, answer = go(identity, provider)
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/")
    assert client.get("/jobs/").status_code == 200
    user = User.objects.get(email=EMAIL)
    assert (user.has_usable_password(), roles()) == (False, {"aurora": "member"})
    assert BrowserSession.objects.get(user=user).method == "oidc"
    page = client.get("/settings/security/").content.decode()
    assert "You sign in through Corp" in page
    tenant = Membership.objects.get(user=user).tenant
    assert "signs in through Corp" in client.get(f"/tenants/{tenant.public_id}/people/").content.decode()
    provider.tenant = factories.make_tenant("elsewhere")  # another tenant's business is not told
    provider.save(update_fields=["tenant"])
    assert "Corp" not in client.get(f"/tenants/{tenant.public_id}/people/").content.decode()
    account = SocialAccount.objects.get()
    assert (account.user, account.extra_data) == (user, {}), "nothing is kept of what the provider tells"
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"user.create", "user.oidc.connect", "member.add", "auth.login"} <= actions


def test_the_way_there_carries_state_nonce_and_a_challenge_and_takes_nothing_from_the_address(
    identity: Identity, provider: OidcProvider
) -> None:
    path = f"/accounts/oidc/{provider.public_id}/login/?scope=admin&auth_params=prompt%3Dnone&process=connect"
    sent = parse_qs(urlsplit(Client().get(path)["Location"]).query)
    assert (sent["response_type"], sent["client_id"], sent["code_challenge_method"]) == (["code"], [CLIENT], ["S256"])
    assert set(sent["scope"][0].split()) == {"openid", "email", "profile"}
    assert "prompt" not in sent
    assert all(len(sent[name][0]) >= 16 for name in ("state", "nonce", "code_challenge"))


def test_what_is_gone_at_the_provider_is_taken_away_and_what_is_new_comes(
    identity: Identity, provider: OidcProvider
) -> None:
    identity.person(EMAIL, "researchers")
    go(identity, provider)
    identity.person(EMAIL, "researchers", "heads")
    go(identity, provider)
    assert roles() == {"aurora": "owner"}, "of two roles in a tenant the higher"
    identity.person(EMAIL, "canteen")
    client, answer = go(identity, provider)
    assert answer.status_code == 403
    assert "none of your groups" in answer.content.decode()
    assert roles() == {}
    assert client.get("/jobs/").status_code == 302, "nobody is signed in"
    assert AuditEntry.objects.filter(action="member.remove").count() == 1
    refused = AuditEntry.objects.filter(action="auth.login", result="refused").get()
    assert refused.actor_label == EMAIL


def test_a_role_given_by_hand_is_never_touched(identity: Identity, provider: OidcProvider, actors: Actors) -> None:
    user = factories.make_user(EMAIL)
    Membership.objects.create(user=user, tenant=actors.a, role="billing")
    Membership.objects.create(user=user, tenant=actors.b, role="viewer")
    identity.person(EMAIL, "heads")
    go(identity, provider)
    assert roles() == {"aurora": "billing", "boreal": "viewer"}
    identity.person(EMAIL)
    go(identity, provider)
    assert roles() == {"aurora": "billing", "boreal": "viewer"}
    assert not OidcGrant.objects.exists()


def test_powers_come_only_by_a_mapping_made_on_the_server_and_go_with_the_group(
    identity: Identity, provider: OidcProvider, actors: Actors
) -> None:
    for who in (actors.operator, actors.owner_a):
        with pytest.raises(NotAllowed):
            providers.map_group(who, provider, "money", "finance", None)
    providers.map_group(ROOT, provider, "money", "finance", None)
    identity.person(EMAIL, "money")
    go(identity, provider)
    found = User.objects.get(email=EMAIL)
    assert (found.platform_role, found.platform_role_by) == ("finance", "oidc")
    identity.person(EMAIL, "researchers")
    go(identity, provider)
    assert User.objects.get(email=EMAIL).platform_role == ""
    assert AuditEntry.objects.filter(action="user.platform_role").count() == 2
    # an operator who could now point the provider elsewhere would come in with finance's power
    with pytest.raises(NotAllowed):
        providers.change_provider(actors.operator, provider, issuer="https://evil.example.com")


def test_a_power_over_money_and_a_tenants_work_are_not_given_together(
    identity: Identity, provider: OidcProvider
) -> None:
    providers.map_group(ROOT, provider, "money", "finance", None)
    identity.person(EMAIL, "money", "researchers")
    _, answer = go(identity, provider)
    assert answer.status_code == 409
    assert not User.objects.filter(email=EMAIL).exists()
    assert AuditEntry.objects.filter(action="auth.login", result="refused").count() == 1


def test_two_powers_at_once_are_refused(identity: Identity, provider: OidcProvider) -> None:
    for group, role in (("money", "finance"), ("ops", "operator")):
        providers.map_group(ROOT, provider, group, role, None)
    identity.person(EMAIL, "money", "ops")
    _, answer = go(identity, provider)
    assert answer.status_code == 403
    assert not User.objects.filter(email=EMAIL).exists()


@pytest.mark.parametrize("wrong", ["unverified", "domain", "no role"])
def test_who_does_not_come_in_at_all(identity: Identity, provider: OidcProvider, wrong: str) -> None:
    email = "eve@elsewhere.example" if wrong == "domain" else "new@aurora.example"
    identity.person(email, *(["canteen"] if wrong == "no role" else ["heads"]), verified=wrong != "unverified")
    client, answer = go(identity, provider, email)
    assert answer.status_code == 403
    assert "_auth_user_id" not in client.session
    assert not User.objects.filter(email=email).exists()
    assert not SocialAccount.objects.exists()


def test_an_account_with_a_power_is_not_opened_by_a_provider_that_does_not_give_it(
    identity: Identity, provider: OidcProvider, actors: Actors
) -> None:
    """Else an operator with a provider of their own would be finance, or the auditor, tomorrow."""
    User.objects.filter(pk=actors.users["finance"].pk).update(email="cfo@aurora.example")
    identity.person("cfo@aurora.example", "heads")
    client, answer = go(identity, provider, "cfo@aurora.example")
    assert (answer.status_code, "_auth_user_id" in client.session) == (403, False)


def test_a_tenants_provider_opens_nothing_beyond_its_tenant(identity: Identity, actors: Actors, settings: Any) -> None:
    settings.WEIR_OUTBOUND_PRIVATE = True
    own = make(identity, actors.a)
    with pytest.raises(NotAllowed):
        providers.map_group(actors.owner_a, own, "heads", "owner", actors.b)
    providers.map_group(actors.owner_a, own, "heads", "owner", actors.a)
    user = factories.make_user(EMAIL)
    Membership.objects.create(user=user, tenant=actors.b, role="viewer")
    identity.person(EMAIL, "heads")
    client, answer = go(identity, own)
    assert (answer.status_code, "_auth_user_id" in client.session) == (403, False)
    Membership.objects.filter(user=user).delete()
    client, answer = go(identity, own)
    assert answer["Location"] == "/jobs/"
    # who later joins another tenant is no longer this provider's to let in
    Membership.objects.create(user=user, tenant=actors.b, role="owner")
    assert go(identity, own)[1].status_code == 403


def test_a_tenants_provider_is_not_on_the_sign_in_page(identity: Identity, actors: Actors, settings: Any) -> None:
    settings.WEIR_OUTBOUND_PRIVATE = True
    make(identity, actors.a, name="Aurora only")
    make(identity, None, name="Everyone")
    page = Client().get("/accounts/login/").content.decode()
    assert ("Aurora only" in page, "Everyone" in page) == (False, True)


def test_state_of_another_browser_is_worth_nothing(identity: Identity, provider: OidcProvider) -> None:
    identity.person(EMAIL, "heads")
    mine = Client()
    leaving = mine.get(f"/accounts/oidc/{provider.public_id}/login/")
    back = identity.sign_in(leaving["Location"], EMAIL).removeprefix(HOST)
    victim = Client()
    assert victim.get(back).status_code == 401
    assert "_auth_user_id" not in victim.session
    assert mine.get(back).status_code == 302
    assert Client().get(back).status_code == 401, "a code that was used"


def test_a_token_for_another_sign_in_is_refused(identity: Identity, provider: OidcProvider) -> None:
    """The nonce in the session is changed: what comes back was not asked for by it."""
    identity.person(EMAIL, "heads")
    client = Client()
    leaving = client.get(f"/accounts/oidc/{provider.public_id}/login/")
    session = client.session
    for state, _, _ in session["socialaccount_states"].values():
        state["nonce"] = "another"
    session.save()
    back = identity.sign_in(leaving["Location"], EMAIL)
    assert client.get(back.removeprefix(HOST)).status_code == 401
    assert "nonce" in AuditEntry.objects.get(action="auth.login", result="refused").text


def test_another_verifier_gets_no_token(identity: Identity, provider: OidcProvider) -> None:
    identity.person(EMAIL, "heads")
    client = Client()
    leaving = client.get(f"/accounts/oidc/{provider.public_id}/login/")
    session = client.session
    for state, _, _ in session["socialaccount_states"].values():
        state["pkce_code_verifier"] = "x" * 43
    session.save()
    back = identity.sign_in(leaving["Location"], EMAIL)
    assert client.get(back.removeprefix(HOST)).status_code == 401


def test_a_provider_that_is_off_or_gone_lets_nobody_in(identity: Identity, provider: OidcProvider) -> None:
    path = f"/accounts/oidc/{provider.public_id}/login/"
    providers.change_provider(ROOT, provider, enabled=False)
    assert Client().get(path).status_code == 404
    assert Client().get("/accounts/oidc/idp_none/login/").status_code == 404


def test_the_end_of_a_provider_takes_back_what_it_gave(
    identity: Identity, provider: OidcProvider, actors: Actors
) -> None:
    identity.person(EMAIL, "heads")
    go(identity, provider)
    providers.delete_provider(actors.operator, provider)
    assert roles() == {}
    assert not SocialAccount.objects.exists()


def test_another_issuer_has_other_people(identity: Identity, provider: OidcProvider) -> None:
    identity.person(EMAIL, "heads")
    go(identity, provider)
    providers.change_provider(ROOT, provider, issuer="https://login.example.com")
    assert (roles(), SocialAccount.objects.count()) == ({}, 0)


def test_the_secret_is_nowhere_to_be_read(
    identity: Identity, provider: OidcProvider, actors: Actors, capsys: pytest.CaptureFixture[str]
) -> None:
    identity.person(EMAIL, "heads")
    go(identity, provider)
    client = Client()
    client.force_login(actors.users["operator"])
    shown = client.get(f"/settings/providers/{provider.public_id}/").content.decode()
    exported = b"".join(client.get("/settings/providers/?format=csv").streaming_content).decode()
    written = "".join(AuditEntry.objects.values_list("text", flat=True)) + str(OidcProvider.objects.values().get())
    for place in (shown, exported, written, *capsys.readouterr()):
        assert SECRET not in place


@pytest.mark.parametrize("brings", [True, False])
def test_a_second_factor_of_the_provider_counts_where_an_operator_says_so(
    identity: Identity, provider: OidcProvider, brings: bool
) -> None:
    providers.change_provider(ROOT, provider, brings_second_factor=brings)
    signing.require_factor(ROOT, "owner")
    identity.person(EMAIL, "heads")
    client, _ = go(identity, provider)
    answer = client.get("/jobs/")
    assert (answer.status_code, answer.headers.get("Location")) == ((200, None) if brings else (302, "/accounts/2fa/"))
    # and otherwise one is set up here: who has just come from the provider has shown who they are
    assert client.get("/accounts/2fa/totp/activate/").status_code == 200
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 600
    session.save()
    sent = client.get("/accounts/2fa/totp/activate/")
    assert sent["Location"].startswith("/accounts/oidc/again/?next=")
    assert client.get("/accounts/password/set/").status_code == 403
