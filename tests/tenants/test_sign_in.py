"""Signing in: one-time links, passwords, throttling, a second factor, cookies."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import Client, override_settings

from console.audit.models import AuditEntry
from console.common import clock
from console.common.errors import InvalidInput, NotFound
from console.tenants import services
from console.tenants.models import SignInLink, User
from tests import factories

LOGIN = "/accounts/login/"
PASSWORD = "a long pass phrase 1"


@pytest.fixture
def user(live: redis.Redis, db: None) -> User:
    return factories.make_user("ada@example.test")


def sign_in(client: Client, password: str = PASSWORD, email: str = "ada@example.test", **more: Any) -> Any:
    return client.post(LOGIN, {"login": email, "password": password}, **more)


def test_a_link_signs_in_once(user: User) -> None:
    path = services.create_sign_in_link(user)
    client = Client()
    assert client.get(path).status_code == 302
    assert client.session["_auth_user_id"] == str(user.pk)
    again = Client()
    assert again.get(path).status_code == 404
    assert "_auth_user_id" not in again.session
    assert AuditEntry.objects.filter(action="auth.login", object_id=user.public_id).count() == 1


def test_the_link_itself_is_not_kept(user: User) -> None:
    token = services.create_sign_in_link(user).split("/")[2]
    assert token not in str(SignInLink.objects.values().get())
    assert token not in "".join(AuditEntry.objects.values_list("text", flat=True))


def test_a_link_expires(user: User) -> None:
    path = services.create_sign_in_link(user, minutes=1)
    SignInLink.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert Client().get(path).status_code == 404
    assert Client().head(path).status_code == 405
    with pytest.raises(InvalidInput):
        services.create_sign_in_link(user, minutes=0)


def test_head_does_not_spend_a_link(user: User) -> None:
    path = services.create_sign_in_link(user)
    Client().head(path)
    assert Client().get(path).status_code == 302


def test_a_disabled_account_has_no_link(user: User) -> None:
    token = services.create_sign_in_link(user).split("/")[2]
    User.objects.update(is_active=False)
    with pytest.raises(NotFound):
        services.consume_sign_in_link(token, clock.now())


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_wins(live: redis.Redis) -> None:
    token = services.create_sign_in_link(factories.make_user()).split("/")[2]
    won: list[bool] = []

    def spend() -> None:
        try:
            services.consume_sign_in_link(token, clock.now())
            won.append(True)
        except NotFound:
            won.append(False)
        finally:
            connection.close()

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_while_valkey_is_away_nobody_signs_in_uncounted_and_the_page_says_so(
    user: User, settings: Any, tmp_path: Path
) -> None:
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": f"unix://{tmp_path}/none.sock"}}
    client = Client()
    assert client.get(LOGIN).status_code == 200
    answer = sign_in(client)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Not just now" in answer.content.decode()
    assert "_auth_user_id" not in client.session


def test_a_password_signs_in_and_the_session_is_new(user: User) -> None:
    client = Client()
    client.get(LOGIN)
    before = client.session.session_key
    assert sign_in(client)["Location"] == "/"
    assert client.session.session_key != before
    entry = AuditEntry.objects.get(action="auth.login")
    assert (entry.result, entry.actor_label, entry.address) == ("ok", "ada@example.test", "127.0.0.1")


def test_wrong_passwords_are_audited_and_throttled(user: User) -> None:
    client = Client()
    answers = [sign_in(client, "wrong") for _ in range(5)]
    assert all("_auth_user_id" not in client.session for _ in answers)
    assert AuditEntry.objects.filter(action="auth.login", result="refused").count() == 5
    # now even the right one is refused, from this address and from any other
    sign_in(client)
    sign_in(Client(), REMOTE_ADDR="10.9.8.7")
    assert "_auth_user_id" not in client.session
    # another account from elsewhere is not in the way
    factories.make_user("bob@example.test")
    other = Client()
    sign_in(other, email="bob@example.test", REMOTE_ADDR="10.1.1.1")
    assert "_auth_user_id" in other.session


def test_guessing_many_accounts_from_one_address_is_throttled(user: User) -> None:
    statuses = [sign_in(Client(), "wrong", f"u{number}@example.test").status_code for number in range(31)]
    assert statuses[-1] == 429
    assert sign_in(Client(), REMOTE_ADDR="10.1.1.2").status_code == 302


def test_known_and_unknown_addresses_answer_alike(user: User) -> None:
    known = sign_in(Client(), "wrong")
    unknown = sign_in(Client(), "wrong", "nobody@example.test")
    assert known.status_code == unknown.status_code
    assert known.context["form"].errors == unknown.context["form"].errors


def test_a_new_password_is_audited_and_the_old_one_is_gone(user: User) -> None:
    client = Client()
    sign_in(client)
    new = "quite another phrase 2"
    client.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    entry = AuditEntry.objects.get(action="user.password")
    assert (entry.object_id, new in entry.text) == (user.public_id, False)
    old, fresh = Client(), Client()
    sign_in(old)
    sign_in(fresh, new)
    assert ("_auth_user_id" in old.session, "_auth_user_id" in fresh.session) == (False, True)


def test_nobody_signs_up(db: None, client: Client) -> None:
    body = {"email": "eve@example.test", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/accounts/signup/", body)
    assert not User.objects.filter(email="eve@example.test").exists()


def test_a_second_factor_is_asked_for_after_a_link_too(user: User) -> None:
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    TOTP.activate(user, generate_totp_secret())
    client = Client()
    answer = client.get(services.create_sign_in_link(user))
    assert "_auth_user_id" not in client.session
    assert answer["Location"].startswith("/accounts/2fa/authenticate")


def test_the_page_after_a_spent_link_says_what_to_do(user: User) -> None:
    body = Client().get("/signin/nonsense/").content.decode()
    assert "sign_in_link" in body
    assert Client().get("/signin/nonsense/")["Cache-Control"].startswith("max-age=0")


def test_cookies_are_closed(user: User) -> None:
    client = Client()
    sign_in(client)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    with override_settings(SESSION_COOKIE_SECURE=True, CSRF_COOKIE_SECURE=True):
        client = Client()
        client.get(LOGIN, secure=True)
        assert client.cookies[settings.CSRF_COOKIE_NAME]["secure"] is True
