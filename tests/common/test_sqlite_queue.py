"""The queue at SQLite's write lock: whoever waits is next when it is free, and nobody is left behind."""

import fcntl
import os
import threading
from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection, transaction

from console.tenants.models import Tenant

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("'postgres' in os.environ.get('DATABASE_URL', '')", reason="a lock of SQLite"),
]


@pytest.fixture
def door() -> Iterator[int]:
    """Another process's place in the queue."""
    connection.ensure_connection()
    handle = os.open(f"{connection.settings_dict['NAME']}-queue", os.O_RDWR)
    yield handle
    os.close(handle)


def is_free(door: int) -> bool:
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(door, fcntl.LOCK_UN)
    return True


def make(slug: str) -> None:
    Tenant.objects.create(slug=slug, name=slug)


def test_a_transaction_holds_the_turn_from_begin_to_commit(door: int) -> None:
    with transaction.atomic():
        assert not is_free(door)
        with transaction.atomic():
            make("inner")
        assert not is_free(door)
    assert is_free(door)


def test_a_rollback_and_a_refusal_give_it_back(door: int) -> None:
    with transaction.atomic():
        make("gone")
        transaction.set_rollback(True)
    assert is_free(door)
    assert not Tenant.objects.exists()
    make("once")
    with pytest.raises(IntegrityError):
        make("once")
    assert is_free(door)
    with pytest.raises(IntegrityError):
        Tenant.objects.filter(slug="once").update(limit_share_bp=-1)
    assert is_free(door)


def test_reading_needs_no_turn(door: int) -> None:
    fcntl.flock(door, fcntl.LOCK_EX)
    assert Tenant.objects.count() == 0
    fcntl.flock(door, fcntl.LOCK_UN)


@pytest.mark.parametrize("single", [True, False])
def test_writers_wait_for_their_turn(door: int, single: bool) -> None:
    """Also a single statement outside a transaction."""
    done = threading.Event()

    def write() -> None:
        try:
            if single:
                Tenant.objects.filter(slug="x").update(name="y")
            else:
                make("late")
        finally:
            connection.close()
            done.set()

    fcntl.flock(door, fcntl.LOCK_EX)
    thread = threading.Thread(target=write)
    thread.start()
    assert not done.wait(0.3)
    fcntl.flock(door, fcntl.LOCK_UN)
    assert done.wait(120)
    thread.join()
    assert Tenant.objects.filter(slug="late").exists() is not single


def test_a_closed_connection_leaves_the_queue(door: int) -> None:
    taken = threading.Event()

    def die() -> None:
        transaction.set_autocommit(False)
        make("lost")
        taken.set()
        connection.close()

    thread = threading.Thread(target=die)
    thread.start()
    thread.join()
    assert taken.is_set()
    assert is_free(door)
    assert not Tenant.objects.filter(slug="lost").exists()


def test_maintenance_keeps_writers_out(door: int) -> None:
    with connection.turn():  # type: ignore[attr-defined]
        assert not is_free(door)
    assert is_free(door)
