"""Web 22: one way to sign in. No API login, no Basic, no password for a token: a second factor cannot be passed by."""

import base64
import json
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import settings
from django.test import Client

from console.tenants import services
from tests.conftest import Actors
from tests.security.routes import all_routes

PASSWORD = "a long pass phrase 1"


def test_the_only_sign_in_routes_are_allauths_and_the_one_time_link() -> None:
    words = ("login", "signin", "sign-in", "auth", "session", "token-auth", "obtain")
    found = {route for route in all_routes() if any(word in route for word in words)}
    assert {route for route in found if not route.startswith("accounts/")} == {"signin/<str:token>/"}
    assert not [route for route in all_routes() if route.startswith("admin")]


def test_one_backend_checks_passwords_and_the_api_knows_two_ways() -> None:
    assert settings.AUTHENTICATION_BACKENDS == ["allauth.account.auth_backends.AuthenticationBackend"]
    assert settings.REST_FRAMEWORK["DEFAULT_AUTHENTICATION_CLASSES"] == [
        "console.tenants.authentication.TokenAuthentication",
        "console.tenants.authentication.SessionAuthentication",
    ]
    views = [view.cls for view in all_routes().values() if hasattr(view, "cls")]
    assert len(views) > 20
    for view in views:
        names = [kind.__name__ for kind in view.authentication_classes]
        assert names == ["TokenAuthentication", "SessionAuthentication"], view


@pytest.mark.usefixtures("live")
def test_a_password_opens_nothing_but_the_sign_in_page(actors: Actors) -> None:
    user = actors.users["owner_a"]
    basic = base64.b64encode(f"{user.email}:{PASSWORD}".encode()).decode()
    client = Client()
    for header in (f"Basic {basic}", f"Bearer {PASSWORD}", f"Token {PASSWORD}"):
        assert client.get("/api/v1/me", headers={"Authorization": header}).status_code == 401
    body = json.dumps({"email": user.email, "password": PASSWORD})
    for path in ("login", "auth/login", "token", "session"):
        assert client.post(f"/api/v1/{path}", body, content_type="application/json").status_code == 404


@pytest.mark.usefixtures("live")
def test_the_second_factor_is_asked_for_on_every_way_in(actors: Actors) -> None:
    user = actors.users["owner_a"]
    TOTP.activate(user, generate_totp_secret())

    def by_password(client: Client) -> Any:
        return client.post("/accounts/login/", {"login": user.email, "password": PASSWORD})

    def by_link(client: Client) -> Any:
        return client.get(services.create_sign_in_link(user))

    for way in (by_password, by_link):
        client = Client()
        assert way(client)["Location"].startswith("/accounts/2fa/authenticate"), way
        assert client.get("/api/v1/me").status_code == 401
        assert client.get("/jobs/").status_code == 302
