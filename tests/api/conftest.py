"""A client that speaks JSON with a token, and fresh idempotency keys."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http.response import HttpResponseBase
from django.test import Client

from console.tenants import services
from console.tenants.models import Tenant, User
from console.tenants.queries import actor_for_user
from console.tenants.scopes import SCOPES
from tests.conftest import Actors

ROOT = "/api/v1/"
_keys = itertools.count(1)


class Api:
    """Calls paths under /api/v1/ as one person; `last` is the decoded body of the last answer."""

    def __init__(self, user: User, scopes: tuple[str, ...] = SCOPES, tenant: Tenant | None = None) -> None:
        self.token, self.secret = services.create_token(actor_for_user(user), name="test", scopes=scopes, tenant=tenant)
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {self.secret}"}

    def get(self, path: str, **params: Any) -> Any:
        return self.client.get(ROOT + path, params, headers=self.headers)

    def post(self, path: str, body: Any = None, key: str = "", **headers: str) -> Any:
        raw = body if isinstance(body, (bytes, str)) else json.dumps({} if body is None else body)
        key = key or f"key-{next(_keys)}"
        return self.client.post(
            ROOT + path,
            raw,
            content_type="application/json",
            headers={**self.headers, "Idempotency-Key": key, **headers},
        )


def fields(response: HttpResponseBase) -> list[str]:
    """The fields that a refusal names; fails unless it is a proper problem."""
    assert response["Content-Type"] == "application/problem+json", response.content
    body = response.json()
    assert {"type", "title", "status", "code", "detail", "request_id"} <= set(body)
    assert body["status"] == response.status_code
    assert response["X-Request-ID"] == body["request_id"]
    return [error["field"] for error in body.get("errors", [])]


@pytest.fixture
def api(actors: Actors) -> Callable[..., Api]:
    """api("member_a"), api("member_a", ("jobs:read",)), api("operator") ..."""

    def make(name: str, scopes: tuple[str, ...] = SCOPES, tenant: Tenant | None = None) -> Api:
        return Api(actors.users[name], scopes, tenant)

    return make
