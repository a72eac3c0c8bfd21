"""A transaction that goes to PostgreSQL in one trip is still one: all of it or nothing, whatever goes wrong."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction

from console.common import sql
from console.common.models import Lease

pytestmark = pytest.mark.django_db(transaction=True)

_ADD = "INSERT INTO common_lease (name, holder, epoch) VALUES (%s, '', 1)"
_MOVE = "UPDATE common_lease SET epoch = 2 WHERE name = %s RETURNING name"


def names() -> set[str]:
    return set(Lease.objects.values_list("name", flat=True))


def usable() -> bool:
    """The connection is where it was: outside of a transaction, and in working order."""
    with transaction.atomic():
        Lease.objects.count()
    return not connection.in_atomic_block and not connection.needs_rollback and not connection.run_on_commit


def test_all_is_stored_and_hooks_run_after_the_commit() -> None:
    seen: list[set[str]] = []
    with sql.joint():
        sql.execute(_ADD, "a")
        transaction.on_commit(lambda: seen.append(names()))
        sql.execute(_ADD, "b")
        sql.exactly(1, _MOVE, "a")
        assert not seen
    assert seen == [{"a", "b"}]
    assert usable()
    assert Lease.objects.get(name="a").epoch == 2


def fails(kind: type[BaseException], change: Callable[[], None]) -> None:
    """`change` raises, nothing of it is stored, and the connection goes on."""
    with pytest.raises(kind):
        change()
    assert not names()
    assert usable()


def test_an_exception_of_ours_undoes_what_was_sent() -> None:
    ran: list[int] = []

    def change() -> None:
        with sql.joint():
            sql.execute(_ADD, "a")
            transaction.on_commit(lambda: ran.append(1))
            raise KeyError("a fault between two statements")

    fails(KeyError, change)
    assert not ran


@pytest.mark.parametrize("read", [False, True])
def test_a_refused_statement_undoes_all_before_and_after_it(read: bool) -> None:
    def change() -> None:
        with sql.joint():
            sql.execute(_ADD, "a")
            sql.execute(_ADD, "a")
            asked = sql.ask("SELECT 1")
            if read:
                asked.rows()
            sql.execute(_ADD, "b")

    fails(IntegrityError, change)


@pytest.mark.parametrize("outer", [False, True])
def test_another_number_of_rows_than_told_undoes_all(outer: bool) -> None:
    def change() -> None:
        with sql.joint():
            sql.execute(_ADD, "a")
            sql.exactly(1, _MOVE, "nobody")
            sql.execute(_ADD, "b")

    def within() -> None:
        with transaction.atomic():
            change()

    fails(sql.Mismatch, within if outer else change)


def test_the_commit_may_be_sent_before_it_is_waited_for() -> None:
    with sql.joint() as commit:
        sql.execute(_ADD, "a")
        asked = sql.ask("SELECT name FROM common_lease")
        commit()
    assert asked.rows() == [("a",)]
    assert names() == {"a"}
    assert usable()


def test_what_the_commit_refuses_is_undone() -> None:
    """A deferred foreign key is looked at by the commit, which nobody has waited for."""
    orphan = "INSERT INTO scheduling_jobevent (job_id, at, kind, params, actor_label) VALUES (987, %s, 'x', '{}', '')"

    def change() -> None:
        with sql.joint() as commit:
            sql.execute(_ADD, "a")
            sql.execute(orphan, "2026-11-30 00:00:00+00:00")
            commit()

    fails(IntegrityError, change)


def test_inside_another_transaction_it_stands_or_falls_with_that() -> None:
    def change() -> None:
        with transaction.atomic():
            with sql.joint():
                sql.execute(_ADD, "a")
            assert names() == {"a"}
            raise KeyError("the outer one fails")

    fails(KeyError, change)
