"""Idempotency keys: once, whatever is sent again, in parallel, or killed half-way."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from console.common import bulk, clock, idempotency
from console.common.errors import Conflict, InvalidInput
from console.common.idempotency import Answer, KeyReused
from console.common.models import IdempotencyKey
from console.tenants.models import Tenant

PRINT = idempotency.fingerprint("POST", "/x", b"{}")


def make_tenant(slug: str = "made") -> Answer:
    Tenant.objects.create(slug=f"{slug}-{Tenant.objects.count()}", name=slug)
    return Answer(201, b'{"made": 1}', {"Location": "/x/1"})


def run(work: Callable[..., Any], key: str = "k", print_: str = PRINT, caller: str = "user:1", **more: Any) -> Answer:
    return idempotency.run(caller, key, print_, work, **more)


def test_done_is_answered_from_the_store_byte_for_byte(db: None) -> None:
    first, second = run(make_tenant), run(make_tenant)
    assert (second.status, second.body, second.headers) == (first.status, first.body, first.headers)
    assert (first.replayed, second.replayed) == (False, True)
    assert Tenant.objects.count() == 1


def test_another_payload_is_refused(db: None) -> None:
    run(make_tenant)
    with pytest.raises(KeyReused):
        run(make_tenant, print_=idempotency.fingerprint("POST", "/x", b'{"a":1}'))
    with pytest.raises(KeyReused):
        run(make_tenant, print_=idempotency.fingerprint("POST", "/y", b"{}"))
    assert Tenant.objects.count() == 1


def test_a_key_belongs_to_its_caller(db: None) -> None:
    run(make_tenant)
    assert run(make_tenant, caller="user:2").replayed is False
    assert Tenant.objects.count() == 2


def test_still_running_is_a_conflict(db: None) -> None:
    def work() -> Answer:
        with pytest.raises(Conflict) as refusal:
            run(make_tenant)
        assert refusal.value.code == "request_in_progress"
        return make_tenant()

    run(work)
    assert Tenant.objects.count() == 1


def test_a_refusal_gives_the_key_back(db: None) -> None:
    def refuse() -> Answer:
        make_tenant()
        raise InvalidInput([])

    with pytest.raises(InvalidInput):
        run(refuse)
    assert (Tenant.objects.count(), IdempotencyKey.objects.count()) == (0, 0)
    assert run(make_tenant).replayed is False


def _die() -> None:
    raise KeyboardInterrupt  # not an Exception: the key stays claimed, as it does after a kill


@pytest.mark.django_db(transaction=True)
def test_killed_before_the_commit_nothing_happened_and_a_retry_may(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> Answer:
        make_tenant()
        _die()
        raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        run(work)
    assert Tenant.objects.count() == 0
    with pytest.raises(Conflict):  # the claim holds for a while: the first may still be alive elsewhere
        run(make_tenant)
    later = clock.now() + idempotency.CLAIM + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert run(make_tenant).status == 201
    assert Tenant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_killed_after_the_commit_the_answer_is_there() -> None:
    run(make_tenant)  # the process dies here, before the answer goes out
    assert run(make_tenant).replayed is True
    assert Tenant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_that_wakes_up_after_a_take_over_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fence: once a retry has taken the claim over, the answer of a paused process does not count."""
    later = clock.now() + idempotency.CLAIM + timedelta(seconds=1)

    def slow() -> Answer:
        monkeypatch.setattr(clock, "now", lambda: later)
        assert run(lambda: make_tenant("retry")).replayed is False
        return Answer(200, b"late", {})

    with pytest.raises(Conflict):
        run(slow, mode="after")
    assert [tenant.name for tenant in Tenant.objects.all()] == ["retry"]
    assert run(make_tenant).body == b'{"made": 1}'


def inside(name: str, before: Callable[[], Any] = lambda: None, print_: str = PRINT) -> Answer:
    """Work with a transaction of its own: `before` happens between the checks and the transaction."""

    def work(row: Callable[[Answer], IdempotencyKey]) -> None:
        kept = row(Answer(201, name.encode(), {}))
        before()
        with transaction.atomic():
            make_tenant(name)
            bulk.insert([kept])

    return idempotency.run_inside("user:1", "k", print_, work)


@pytest.mark.django_db(transaction=True)
def test_inside_one_of_two_goes_through_and_the_other_is_answered_from_the_store() -> None:
    answer = inside("second", before=lambda: inside("first"))
    assert (answer.body, answer.replayed) == (b"first", True)
    assert [tenant.name for tenant in Tenant.objects.all()] == ["first"]
    assert inside("third").body == b"first"
    with pytest.raises(KeyReused):
        inside("other", print_=idempotency.fingerprint("POST", "/other", b""))


def test_inside_what_has_become_impossible_since_is_answered_from_the_store(db: None) -> None:
    def refuse() -> None:
        raise InvalidInput([])

    inside("first")
    again = inside("second", before=refuse)
    assert (again.body, again.replayed) == (b"first", True)
    with pytest.raises(KeyReused):
        inside("other", before=refuse, print_=idempotency.fingerprint("POST", "/other", b""))


def test_inside_a_refusal_keeps_nothing(db: None) -> None:
    def refuse() -> None:
        raise InvalidInput([])

    with pytest.raises(InvalidInput):
        inside("first", before=refuse)
    assert (Tenant.objects.count(), IdempotencyKey.objects.count()) == (0, 0)
    assert inside("second").replayed is False


def test_inside_an_expired_key_makes_room(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    inside("one")
    later = clock.now() + idempotency.KEEP + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert inside("two").body == b"two"
    assert IdempotencyKey.objects.count() == 1


def test_inside_another_rule_of_the_database_is_no_replay(db: None) -> None:
    def clash() -> None:
        raise IntegrityError("another rule")

    with pytest.raises(IntegrityError):
        inside("one", before=clash)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one() -> None:
    """200 threads with one key: one object; every other call gets the stored answer or 409."""
    seen: list[Any] = []
    gate = threading.Barrier(20)

    def call() -> None:
        gate.wait()
        for _ in range(10):
            try:
                seen.append(run(make_tenant).body)
            except Conflict as refusal:
                seen.append(refusal.code)
            except OperationalError as error:  # would be a locked database
                seen.append(error)
        connection.close()

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert set(seen) <= {b'{"made": 1}', "request_in_progress"}
    assert Tenant.objects.count() == 1


def test_the_store_cannot_be_read_without_our_key(db: None) -> None:
    run(lambda: Answer(201, b'{"token": "weir_secret"}', {}))
    assert b"weir_secret" not in bytes(IdempotencyKey.objects.get().body)


def test_purge_removes_what_has_expired_and_only_that(db: None) -> None:
    run(make_tenant, key="old")
    run(make_tenant, key="new")
    now = clock.now()
    IdempotencyKey.objects.filter(key="old").update(expires_at=now - timedelta(seconds=1))
    assert idempotency.purge(now) == 1
    assert idempotency.purge(now) == 0
    assert [row.key for row in IdempotencyKey.objects.all()] == ["new"]


@pytest.mark.parametrize(
    ("header", "key"),
    [("abc", "abc"), ('"8e03978e-40d5"', "8e03978e-40d5"), ("  x ", "x")],
)
def test_a_key_may_be_quoted(header: str, key: str) -> None:
    assert idempotency.read_key({idempotency.HEADER: header}) == key


@pytest.mark.parametrize("header", ["a b", "é", "x" * 256, '""'])
def test_a_strange_key_is_refused(header: str) -> None:
    with pytest.raises(InvalidInput):
        idempotency.read_key({idempotency.HEADER: header})
