"""Walks every route as every kind of person and compares with the rules; nothing of a tenant may show to others."""

import dataclasses
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import transaction
from django.test import Client

from tests.conftest import Actors
from tests.security.matrix import ELSEWHERE, FOREIGN, ROUTES, ROWS
from tests.security.routes import METHODS, all_routes, declared_methods, fill
from tests.security.rules import WHO, Row
from tests.security.world import World, make_world

USERS = {"stranger": "owner_b", **{who: f"{who}_a" for who in ("owner", "member", "viewer", "billing")}}
_keys = itertools.count(1)
# what differs from one answer to the next anyway
_PASSING = re.compile(r"[0-9a-f]{24}|csrfmiddlewaretoken\" value=\"\w+")


@pytest.fixture
def world(actors: Actors, live: redis.Redis) -> World:
    return make_world(actors)


@pytest.fixture
def sessions(actors: Actors) -> dict[str, str]:
    """A signed-in session of each; empty for nobody."""
    found = {"nobody": ""}
    for who in WHO[1:]:
        client = Client()
        client.force_login(actors.users[USERS.get(who, who)])
        found[who] = client.cookies[settings.SESSION_COOKIE_NAME].value
    return found


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    routes = set(all_routes()) - ELSEWHERE
    assert sorted(routes - set(ROUTES)) == [], "write a row in tests/security/matrix.py"
    assert sorted(set(ROUTES) - routes) == []
    assert len({(row.method, row.route) for row in ROWS}) == len(ROWS), "a row is there twice"
    for route, view in all_routes().items():
        declared = declared_methods(view)
        if declared is not None and route in ROUTES and not route.startswith((*FOREIGN, "billing/")):
            assert ROUTES[route] == declared, route


@pytest.mark.once
def test_each_answers_as_its_rule_says(world: World, sessions: dict[str, str]) -> None:
    wrong = []
    for row in ROWS:
        got = {who: ask(world, sessions[who], row).status_code for who in WHO}
        off = {who: f"{status}, not {row.expected(who)}" for who, status in got.items() if status != row.expected(who)}
        if off:
            wrong.append(f"{row.method} {row.route}: {off}")
    assert wrong == []


def test_the_hidden_answers_as_the_missing(world: World, sessions: dict[str, str]) -> None:
    """Word for word, but for the name that was asked for."""
    gone = dataclasses.replace(world, ids={key: _another(value) for key, value in world.ids.items()})
    told = []
    for row in ROWS:
        if "<" in row.route and row.rule.hidden:
            hidden, missing = (ask(each, sessions["stranger"], row) for each in (world, gone))
            if hidden.status_code != missing.status_code or _without(world, hidden) != _without(gone, missing):
                told.append(f"{row.method} {row.route}")
    assert told == []


def _is_id(value: str) -> bool:
    return "_" in value


def _another(value: str) -> str:
    """An id of the same kind that nothing has."""
    kind, _, rest = value.partition("_")
    return f"{kind}_{'0' * len(rest)}" if _is_id(value) else value


def _without(world: World, answer: Any) -> str:
    text = body_of(answer).decode("utf-8", "replace")
    for value in filter(_is_id, world.ids.values()):
        text = text.replace(value, "…")
    return _PASSING.sub("…", text)


def test_what_has_no_row_is_refused(world: World, sessions: dict[str, str]) -> None:
    """Also for the operator: a method that nobody wrote down must not exist."""
    wrong = []
    for route, methods in ROUTES.items():
        for method in METHODS:
            if method in methods or route.startswith(FOREIGN) or route in {"billing/", "preferences/"}:
                continue
            status = ask(world, sessions["operator"], Row(ROWS[0].rule, method, route)).status_code
            if status != 405:
                wrong.append(f"{method} {route}: {status}")
    assert wrong == []


def test_nothing_of_a_tenant_shows_to_others(world: World, sessions: dict[str, str]) -> None:
    """Pages, API and both export formats of every list, as nobody and as the owner of another tenant."""
    leaks = []
    for row in ROWS:
        if row.method != "GET" or row.route.startswith(FOREIGN):
            continue
        for who, query in itertools.product(("nobody", "stranger"), ("", "?format=csv", "?format=xlsx")):
            answer = ask(world, sessions[who], row, query)
            text = body_of(answer).decode("utf-8", "replace")
            path = fill(row.route, world.ids)
            leaks += [f"{path}{query} as {who}: {word}" for word in world.canaries if word in text and word not in path]
    assert leaks == []


def test_the_same_words_do_show_to_their_own_tenant(world: World, sessions: dict[str, str]) -> None:
    """The walk above would find a leak: the canaries are really on these pages."""
    for route in ("jobs/", "api/v1/jobs", "api/v1/allocations", "audit/", "api/v1/usage", "settings/tokens/"):
        row = next(row for row in ROWS if (row.method, row.route) == ("GET", route))
        text = body_of(ask(world, sessions["owner"], row)).decode()
        assert any(word in text for word in world.canaries), route


def ask(world: World, session: str, row: Row, query: str = "") -> Any:
    """One request, whose effects are undone."""
    client = Client(raise_request_exception=False)
    if session:
        client.cookies[settings.SESSION_COOKIE_NAME] = session
    more: dict[str, Any] = {}
    if row.method != "GET":
        more["data"] = row.body
        more["headers"] = {"Idempotency-Key": f"walk-{next(_keys)}"}
    if row.method != "GET" and row.route.startswith("api/"):
        more["content_type"] = "application/json"
    with undone():
        answer = getattr(client, row.method.lower())(fill(row.route, world.ids) + query, **more)
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
