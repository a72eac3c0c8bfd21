"""Second factors: each change is recorded with its person; and the pages of allauth that Weir does not offer."""

import re
import time
from typing import Any
from urllib.parse import urlencode

import pytest
import redis
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core import mail
from django.db import IntegrityError
from django.test import Client

from console.accounts import allauth_pages
from console.audit.models import AuditEntry
from console.tenants.models import User
from tests import factories

BASE = "/accounts/2fa"
PASSWORD = "a long pass phrase 1"


@pytest.fixture
def user(live: redis.Redis, db: None) -> User:
    return factories.make_user("ada@example.test")


@pytest.fixture
def client(user: User, settings: Any) -> Client:
    settings.MFA_TOTP_TOLERANCE = 1  # half a minute may end between the code and its check
    client = Client()
    client.post("/accounts/login/", {"login": user.email, "password": PASSWORD})
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})  # asked for before a factor changes
    return client


def actions(user: User) -> list[str]:
    rows = AuditEntry.objects.filter(object_id=user.public_id).exclude(action__startswith="auth.").order_by("pk")
    assert all(row.actor_id == f"user:{user.public_id}" for row in rows)
    return list(rows.values_list("action", flat=True))


def activate(client: Client) -> Any:
    secret = client.get(f"{BASE}/totp/activate/").context["form"].secret
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    return client.post(f"{BASE}/totp/activate/", {"code": code})


def test_a_factor_added_renewed_and_taken_away_is_recorded(client: Client, user: User) -> None:
    assert activate(client)["Location"] == f"{BASE}/recovery-codes/"
    assert actions(user) == ["user.second_factor.add"]
    assert client.post(f"{BASE}/recovery-codes/generate/").status_code == 302
    assert actions(user)[1:] == ["user.recovery_codes"]
    assert client.post(f"{BASE}/totp/deactivate/").status_code == 302
    assert actions(user)[2:] == ["user.second_factor.remove"]
    assert not Authenticator.objects.exists()


def test_a_wrong_code_changes_and_records_nothing(client: Client, user: User) -> None:
    client.get(f"{BASE}/totp/activate/")
    assert client.post(f"{BASE}/totp/activate/", {"code": "000000x"}).status_code == 200
    assert not Authenticator.objects.exists()
    assert actions(user) == []


def test_no_factor_without_its_entry(client: Client, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise IntegrityError("the log cannot be written")

    monkeypatch.setattr(allauth_pages, "record", fails)
    with pytest.raises(IntegrityError):
        activate(client)
    assert not Authenticator.objects.exists()


def test_who_signed_in_by_a_link_sets_a_password_on_the_way(user: User, settings: Any) -> None:
    """Not a dead end: a factor needs a password first, and the page that asks for one leads back."""
    settings.MFA_TOTP_TOLERANCE = 1
    user.set_unusable_password()
    user.save()
    client = Client()
    client.force_login(user)
    wanted = f"{BASE}/totp/activate/"
    sent = client.get(wanted)
    assert sent["Location"] == "/accounts/password/set/?" + urlencode({"next": wanted})
    page = client.get(sent["Location"]).content.decode()
    assert "have no password yet" in page
    assert client.get(wanted).status_code == 302, "no factor before there is a password"
    refused = client.post(sent["Location"], {"password1": "short", "password2": "short", "next": wanted})
    assert refused.status_code == 200
    done = client.post(sent["Location"], {"password1": PASSWORD, "password2": PASSWORD, "next": wanted})
    assert done["Location"] == wanted
    assert activate(client)["Location"] == f"{BASE}/recovery-codes/"
    assert actions(user) == ["user.password", "user.second_factor.add"]


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_the_first_password_leads_to_no_other_host(user: User, elsewhere: str) -> None:
    user.set_unusable_password()
    user.save()
    client = Client()
    client.force_login(user)
    sent = {"password1": PASSWORD, "password2": PASSWORD, "next": elsewhere}
    done = client.post("/accounts/password/set/?" + urlencode({"next": elsewhere}), sent)
    assert done.status_code == 302
    assert "evil" not in done["Location"]
    assert "alert" not in done["Location"]


@pytest.mark.parametrize(
    "path", ["email/", "signup/", "confirm-email/", "confirm-email/abc/", "login/code/confirm/", "reauthenticate/code/"]
)
def test_pages_that_nobody_needs_are_not_there(client: Client, user: User, path: str) -> None:
    """Such as the change of an address: it is who the person is in the audit log."""
    other = "someone-else@example.test"
    assert client.get(f"/accounts/{path}").status_code == 404
    assert client.post(f"/accounts/{path}", {"action_add": "", "email": other}).status_code == 404
    user.refresh_from_db()
    assert user.email == "ada@example.test"


def test_the_sign_in_pages_lead_nowhere_that_is_gone(client: Client, user: User) -> None:
    for path in ("/accounts/login/", "/accounts/password/reset/"):
        text = Client().get(path).content.decode()
        assert "signup" not in text
    for path in ("/accounts/password/change/", "/accounts/2fa/", "/accounts/2fa/totp/activate/", "/accounts/logout/"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert "/accounts/email" not in answer.content.decode()


def test_a_forgotten_password_is_asked_for_in_the_same_words_by_all(user: User, settings: Any) -> None:
    """Who has an account gets a mail, anyone else nothing, and the page tells neither from the other."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    answers = [Client().post("/accounts/password/reset/", {"email": to}) for to in (user.email, "nobody@example.test")]
    assert [(answer.status_code, answer["Location"]) for answer in answers] == [
        (302, "/accounts/password/reset/done/")
    ] * 2
    assert [message.to for message in mail.outbox] == [[user.email]]
    link = re.search(r"/accounts/password/reset/key/[^\s]+", mail.outbox[0].body)
    assert link is not None
    client = Client()
    form = client.get(client.get(link[0])["Location"])
    assert form.status_code == 200
    new = {"password1": "another pass phrase 2", "password2": "another pass phrase 2"}
    assert client.post(form.request["PATH_INFO"], new)["Location"] == "/accounts/password/reset/key/done/"
    assert actions(user) == ["user.password"]
