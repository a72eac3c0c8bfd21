"""A role that must have a second factor: until it is there, its people set it up and do nothing else."""

import json
from typing import Any

import pytest
import redis
from allauth.mfa.models import Authenticator
from django.test import Client

from console.accounts import services
from console.accounts.mfa_adapter import MfaAdapter
from console.accounts.middleware import OPEN
from console.accounts.models import BrowserSession, SecondFactorRule
from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants.models import ApiToken
from console.tenants.services import create_token
from tests.accounts.conftest import PASSWORD, code_of, give_totp, sign_in
from tests.conftest import Actors
from tests.security.routes import all_routes, fill

pytestmark = pytest.mark.usefixtures("live")
SET_UP = "/accounts/2fa/"


@pytest.fixture
def owner(actors: Actors) -> Client:
    """Signed in as an owner, whose role requires a factor since a moment ago."""
    client = Client()
    sign_in(client, actors.users["owner_a"].email)
    assert client.get("/jobs/").status_code == 200
    services.require_factor(actors.operator, "owner")
    return client


def test_pages_lead_to_the_set_up_and_say_why(owner: Client) -> None:
    answer = owner.get("/jobs/")
    assert answer["Location"] == SET_UP
    page = owner.get(SET_UP).content.decode()
    assert "Your role requires a second factor" in page
    assert "/jobs/" not in page, "no menu of what cannot be entered"


def test_every_route_is_closed_but_those_of_the_set_up(owner: Client) -> None:
    """Asked by name of each, so that a new route is closed before anyone thinks of it."""
    told = []
    for route in all_routes():
        if route.startswith(("accounts/", "i18n/", "signin/", "healthz")) or "(?P" in route:
            continue
        path = fill(route, _Any())  # type: ignore[arg-type]
        for method in ("get", "post"):
            answer = getattr(owner, method)(path)
            closed = answer.status_code == 403 if route.startswith("api/") else answer.headers.get("Location") == SET_UP
            if (method, route) == ("post", "preferences/"):
                continue  # the language of the set-up page; asked for below
            if not closed:
                told.append(f"{method} {route}: {answer.status_code}")
    assert told == []
    assert {"mfa_index", "account_logout"} <= OPEN


def test_the_language_of_the_set_up_can_be_chosen(owner: Client) -> None:
    answer = owner.post("/preferences/", {"language": "zh-hans", "next": SET_UP})
    assert answer["Location"] == SET_UP
    assert "双因素身份认证" in owner.get(SET_UP).content.decode()
    assert owner.get("/preferences/")["Location"] == SET_UP


class _Any(dict[tuple[str, str], str]):
    def get(self, *_: Any) -> str:
        return "1"


def test_the_api_of_the_session_is_closed_with_a_problem_that_says_so(owner: Client) -> None:
    answer = owner.get("/api/v1/me")
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert answer.json()["code"] == "second_factor_required"


def test_no_token_is_made_before_and_one_made_earlier_goes_on(owner: Client, actors: Actors) -> None:
    body = json.dumps({"name": "early", "scopes": ["jobs:read"]})
    made = owner.post("/api/v1/tokens", body, "application/json", headers={"Idempotency-Key": "k-1-early"})
    owner.post("/settings/tokens/", {"name": "early", "scopes": ["jobs:read"], "days": "7"})
    assert (made.status_code, ApiToken.objects.count()) == (403, 0)
    _, secret = create_token(actors.owner_a, name="earlier", scopes=["jobs:read"])
    bearer = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/me", headers=bearer).status_code == 200
    assert owner.get("/api/v1/me", headers=bearer).status_code == 200, "the token speaks, not the cookie beside it"
    assert owner.get("/api/v1/me", headers={"Authorization": "Bearer nonsense"}).status_code == 401
    assert owner.get("/jobs/", headers=bearer)["Location"] == SET_UP, "pages know no tokens"


def test_with_the_factor_everything_is_open_again(owner: Client) -> None:
    owner.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = owner.get(f"{SET_UP}totp/activate/").context["form"].secret
    done = owner.post(f"{SET_UP}totp/activate/", {"code": code_of(secret)})
    codes = owner.get(done["Location"])
    assert codes.status_code == 200
    assert owner.get("/jobs/").status_code == 200


def test_who_has_one_notices_nothing(actors: Actors) -> None:
    secret = give_totp(actors.users["owner_a"])
    services.require_factor(actors.operator, "owner")
    client = Client()
    sign_in(client, actors.users["owner_a"].email)
    client.post(f"{SET_UP}authenticate/", {"code": code_of(secret)})
    assert client.get("/jobs/").status_code == 200


def test_other_roles_are_not_meant(owner: Client, actors: Actors) -> None:
    client = Client()
    sign_in(client, actors.users["member_a"].email)
    assert client.get("/jobs/").status_code == 200


def test_the_last_factor_stays_while_it_is_required(actors: Actors) -> None:
    user = actors.users["owner_a"]
    secret = give_totp(user)
    services.require_factor(actors.operator, "owner")
    client = Client()
    sign_in(client, user.email)
    client.post(f"{SET_UP}authenticate/", {"code": code_of(secret)})
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert client.post(f"{SET_UP}totp/deactivate/").status_code == 200
    assert Authenticator.objects.filter(user=user, type="totp").exists()
    assert not AuditEntry.objects.filter(action="user.second_factor.remove").exists()
    services.stop_requiring_factor(actors.operator, "owner")
    assert client.post(f"{SET_UP}totp/deactivate/").status_code == 302
    assert not Authenticator.objects.filter(user=user).exists()


def test_removal_asks_for_the_password_again(actors: Actors) -> None:
    user = actors.users["owner_a"]
    secret = give_totp(user)
    client = Client()
    sign_in(client, user.email)
    client.post(f"{SET_UP}authenticate/", {"code": code_of(secret)})
    assert client.post(f"{SET_UP}totp/deactivate/")["Location"].startswith("/accounts/reauthenticate/")
    assert Authenticator.objects.filter(user=user).exists()


def test_operators_raise_it_and_never_below_the_settings(actors: Actors, settings: Any) -> None:
    for who in (actors.finance, actors.auditor, actors.owner_a):
        with pytest.raises(NotAllowed):
            services.require_factor(who, "member")
    with pytest.raises(InvalidInput):
        services.require_factor(actors.operator, "king")
    settings.WEIR_SECOND_FACTOR_ROLES = ["finance"]
    with pytest.raises(Conflict):
        services.stop_requiring_factor(actors.operator, "finance")
    client = Client()
    sign_in(client, actors.users["finance"].email)
    assert client.get("/")["Location"] == SET_UP


def test_the_policy_page(actors: Actors) -> None:
    give_totp(actors.users["member_a"])
    client = Client()
    client.force_login(actors.users["operator"])
    assert client.post("/settings/access/", {"role": "member", "required": "yes"}).status_code == 302
    assert client.post("/settings/access/", {"role": "member", "required": "yes"}).status_code == 302
    assert list(SecondFactorRule.objects.values_list("role", flat=True)) == ["member"]
    assert AuditEntry.objects.filter(action="policy.second_factor").count() == 1, "the same again is no change"
    rows = {row["role"]: row for row in client.get("/settings/access/").context["rows"]}
    assert (rows["member"]["people"], rows["member"]["having"], rows["member"]["required"]) == (2, 1, True)
    assert client.post("/settings/access/", {"role": "king", "required": "yes"}).status_code == 422


def test_a_lost_factor_is_taken_away_with_every_session(actors: Actors) -> None:
    user = actors.users["owner_a"]
    give_totp(user)
    client = Client()
    client.force_login(user)
    client.get("/")
    assert BrowserSession.objects.filter(user=user).exists()
    for who in (actors.auditor, actors.owner_a):
        with pytest.raises(NotAllowed):
            services.forget_factors(who, user)
    with pytest.raises(NotAllowed):
        services.forget_factors(actors.operator, actors.users["finance"])
    services.forget_factors(actors.operator, user)
    assert client.get("/").status_code == 302
    assert not Authenticator.objects.exists()
    assert AuditEntry.objects.get(action="user.second_factor.reset").object_id == user.public_id
    services.forget_factors(system("command line"), actors.users["finance"])


def test_the_secret_of_an_app_rests_sealed(actors: Actors) -> None:
    secret = give_totp(actors.users["owner_a"])
    kept = Authenticator.objects.get().data["secret"]
    assert secret not in kept
    assert MfaAdapter().decrypt(kept) == secret
    assert MfaAdapter().decrypt(secret) == secret, "one from before they were sealed"


def test_codes_are_shown_once_and_counted(actors: Actors, live: redis.Redis) -> None:
    user = actors.users["owner_a"]
    client = Client()
    sign_in(client, user.email)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = client.get(f"{SET_UP}totp/activate/").context["form"].secret
    client.post(f"{SET_UP}totp/activate/", {"code": code_of(secret)})
    first = client.get(f"{SET_UP}recovery-codes/").context["unused_codes"]
    assert len(set(first)) == 10
    again = client.get(f"{SET_UP}recovery-codes/").content.decode()
    assert not any(code in again for code in first)
    assert client.get(f"{SET_UP}recovery-codes/download/").status_code == 404
    other = Client()
    sign_in(other, user.email)
    assert other.post(f"{SET_UP}authenticate/", {"code": first[0]}).status_code == 302
    page = other.get("/settings/security/")
    assert page.context["codes_left"] == 9
    spent = Client()
    sign_in(spent, user.email)
    assert spent.post(f"{SET_UP}authenticate/", {"code": first[0]}).status_code == 200, "each works once"
