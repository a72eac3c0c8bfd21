"""Web 12: sign-in behind a TLS proxy, on an odd port, and with Origin null; CSRF for sessions and never for tokens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client, override_settings

from tests.api.conftest import Api
from tests.conftest import Actors

LOGIN = "/accounts/login/"
PROXIED: dict[str, Any] = {
    "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
    "CSRF_TRUSTED_ORIGINS": ["https://weir.example.com:8443"],
    "ALLOWED_HOSTS": ["weir.example.com"],
    "SESSION_COOKIE_SECURE": True,
    "CSRF_COOKIE_SECURE": True,
}


def sign_in(origin: str, **environ: str) -> Any:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.get(LOGIN, **environ)
    body = {
        "login": "owner@aurora.test",
        "password": "a long pass phrase 1",
        "csrfmiddlewaretoken": client.cookies["csrftoken"].value,
    }
    return client.post(LOGIN, body, HTTP_ORIGIN=origin, **environ)


@pytest.mark.usefixtures("actors", "live")
def test_behind_a_proxy_that_ends_tls() -> None:
    with override_settings(**PROXIED):
        answer = sign_in("https://weir.example.com:8443", HTTP_HOST="weir.example.com", HTTP_X_FORWARDED_PROTO="https")
    assert answer.status_code == 302


@pytest.mark.usefixtures("actors", "live")
def test_on_a_port_of_its_own() -> None:
    assert sign_in("http://localhost:18200", HTTP_HOST="localhost:18200").status_code == 302


@pytest.mark.usefixtures("actors", "live")
@pytest.mark.parametrize("origin", ["null", "https://evil.example", "http://localhost:9999"])
def test_a_strange_origin_is_refused_with_a_page_that_says_why(origin: str) -> None:
    answer = sign_in(origin, HTTP_HOST="localhost:18200")
    assert answer.status_code == 403
    assert b"cookies are off" in answer.content


def post(client: Client, **headers: str) -> Any:
    body = {"name": "x", "scopes": ["jobs:read"]}
    return client.post(
        "/api/v1/tokens",
        json.dumps(body),
        content_type="application/json",
        headers={"Idempotency-Key": "k", **headers},
    )


@pytest.mark.usefixtures("live")
def test_a_session_always_needs_the_csrf_token(actors: Actors) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(actors.users["owner_a"])
    assert post(client).status_code == 403
    client.get("/settings/tokens/")
    token = client.cookies["csrftoken"].value
    assert post(client, **{"X-CSRFToken": token, "Origin": "https://evil.example"}).status_code == 403
    assert post(client, **{"X-CSRFToken": token}).status_code == 201


@pytest.mark.usefixtures("live")
def test_a_token_never_does(api: Callable[..., Api]) -> None:
    owner = api("owner_a")
    client = Client(enforce_csrf_checks=True)
    assert post(client, **owner.headers).status_code == 201


@pytest.mark.usefixtures("live")
def test_a_cookie_beside_a_bad_token_does_not_help(actors: Actors) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(actors.users["owner_a"])
    assert post(client, Authorization="Bearer weir_wrong").status_code == 401


@pytest.mark.usefixtures("live")
def test_nothing_is_allowed_across_origins(actors: Actors) -> None:
    client = Client()
    client.force_login(actors.users["owner_a"])
    answer = client.get("/api/v1/me", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
