"""Walks every route as four kinds of people and compares with the matrix; nothing of a tenant may show to others."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import transaction
from django.test import Client

from tests.conftest import Actors
from tests.security.matrix import BODIES, ELSEWHERE, FOREIGN, MATRIX
from tests.security.routes import METHODS, all_routes, declared_methods, fill
from tests.security.world import World, make_world

WHO = (None, "owner_b", "owner_a", "operator")
_keys = itertools.count(1)


@pytest.fixture
def world(actors: Actors, live: redis.Redis) -> World:
    return make_world(actors)


@pytest.fixture
def sessions(actors: Actors) -> dict[str | None, str]:
    found: dict[str | None, str] = {None: ""}
    for who in WHO[1:]:
        client = Client()
        client.force_login(actors.users[str(who)])
        found[who] = client.cookies[settings.SESSION_COOKIE_NAME].value
    return found


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    routes = set(all_routes()) - ELSEWHERE
    assert sorted(routes - set(MATRIX)) == [], "write a row in tests/security/matrix.py"
    assert sorted(set(MATRIX) - routes) == []
    for route, view in all_routes().items():
        declared = declared_methods(view)
        if declared is not None and route in MATRIX and not route.startswith((*FOREIGN, "billing/")):
            assert set(MATRIX[route]) == declared, route


def test_each_answers_as_the_matrix_says(world: World, sessions: dict[str | None, str]) -> None:
    wrong = []
    for route, rows in MATRIX.items():
        for method, expected in rows.items():
            got = " ".join(str(ask(world, sessions[who], method, route).status_code) for who in WHO)
            if got != expected:
                wrong.append(f"{method} {route}: expected {expected}, got {got}")
    assert wrong == []


def test_what_has_no_row_is_refused(world: World, sessions: dict[str | None, str]) -> None:
    """Also for the operator: a method that nobody wrote down must not exist."""
    wrong = []
    for route, rows in MATRIX.items():
        for method in METHODS:
            if method in rows or route.startswith(FOREIGN) or route in {"billing/", "preferences/"}:
                continue
            status = ask(world, sessions["operator"], method, route).status_code
            if status != 405:
                wrong.append(f"{method} {route}: {status}")
    assert wrong == []


def test_nothing_of_a_tenant_shows_to_others(world: World, sessions: dict[str | None, str]) -> None:
    """Pages, API and both export formats of every list, as nobody and as the owner of another tenant."""
    leaks = []
    for route in MATRIX:
        if "GET" not in MATRIX[route] or route.startswith(FOREIGN):
            continue
        for who, query in itertools.product((None, "owner_b"), ("", "?format=csv", "?format=xlsx")):
            answer = ask(world, sessions[who], "GET", route, query)
            text = body_of(answer).decode("utf-8", "replace")
            path = fill(route, world.ids)
            leaks += [f"{path}{query} as {who}: {word}" for word in world.canaries if word in text and word not in path]
    assert leaks == []


def test_the_same_words_do_show_to_their_own_tenant(world: World, sessions: dict[str | None, str]) -> None:
    """The walk above would find a leak: the canaries are really on these pages."""
    for route in ("jobs/", "api/v1/jobs", "api/v1/allocations", "audit/", "api/v1/usage", "settings/tokens/"):
        text = body_of(ask(world, sessions["owner_a"], "GET", route)).decode()
        assert any(word in text for word in world.canaries), route


def ask(world: World, session: str, method: str, route: str, query: str = "") -> Any:
    """One request, whose effects are undone."""
    client = Client(raise_request_exception=False)
    if session:
        client.cookies[settings.SESSION_COOKIE_NAME] = session
    more: dict[str, Any] = {}
    if method != "GET":
        more["data"] = BODIES.get(route, {})
        more["headers"] = {"Idempotency-Key": f"walk-{next(_keys)}"}
    if method != "GET" and route.startswith("api/"):
        more["content_type"] = "application/json"
    with undone():
        answer = getattr(client, method.lower())(fill(route, world.ids) + query, **more)
        answer.walked = body_of(answer)
    return answer


def body_of(answer: Any) -> bytes:
    if hasattr(answer, "walked"):
        return bytes(answer.walked)
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@contextmanager
def undone() -> Iterator[None]:
    """A transaction that never happened."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
