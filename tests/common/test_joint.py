"""A transaction that goes to PostgreSQL in one trip is still one: all of it or nothing, whatever goes wrong."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from console.common import sql
from console.common.joint import Joint, joint
from console.common.models import Lease

pytestmark = pytest.mark.django_db(transaction=True)

_ADD = "INSERT INTO common_lease (name, holder, epoch) VALUES (%s, '', 1)"
_MOVE = "UPDATE common_lease SET epoch = 2 WHERE name = %s RETURNING name"
_ORPHAN = "INSERT INTO scheduling_jobevent (job_id, at, kind, params, actor_label) VALUES (987, %s, 'x', '{}', '')"

both_ways = pytest.mark.parametrize("at_once", [True, False], ids=["run", "sent"])


def names() -> set[str]:
    return set(Lease.objects.values_list("name", flat=True))


def usable() -> bool:
    """The connection is where it was: outside of a transaction, and in working order."""
    with transaction.atomic():
        Lease.objects.count()
    return not connection.in_atomic_block and not connection.needs_rollback and not connection.run_on_commit


def fails(kind: type[BaseException], change: Callable[[], None]) -> None:
    """`change` raises, nothing of it is stored, and the connection goes on."""
    with pytest.raises(kind):
        change()
    assert not names()
    assert usable()


def done(at_once: bool, *steps: Callable[[Joint], None]) -> Joint:
    with joint(at_once) as together:
        for step in steps:
            step(together)
    together.wait()
    return together


def add(name: str) -> Callable[[Joint], None]:
    return lambda together: together.change(_ADD, name)


@both_ways
def test_all_is_stored_and_hooks_run_after_the_commit(at_once: bool) -> None:
    Lease.objects.create(name="was")
    seen: list[set[str]] = []
    done(
        at_once,
        add("a"),
        lambda together: together.after(lambda: seen.append(names())),
        add("b"),
        lambda together: together.change(_MOVE, "was", must=1),
        lambda together: seen.append(names()) if together.gathers else None,
    )
    assert seen[-1] == {"a", "b", "was"}
    assert seen[:-1] in ([], [{"was"}]), "what gathers has changed nothing yet"
    assert usable()
    assert Lease.objects.get(name="was").epoch == 2


@both_ways
def test_an_exception_of_ours_undoes_what_was_changed(at_once: bool) -> None:
    ran: list[int] = []

    def fault(together: Joint) -> None:
        together.after(lambda: ran.append(1))
        raise KeyError("a fault between two statements")

    fails(KeyError, lambda: done(at_once, add("a"), fault) and None)
    assert not ran


@both_ways
def test_a_refused_statement_undoes_all_before_and_after_it(at_once: bool) -> None:
    fails(IntegrityError, lambda: done(at_once, add("a"), add("a"), add("b")) and None)


@both_ways
@pytest.mark.parametrize("outer", [False, True])
def test_another_number_of_rows_than_told_undoes_all(at_once: bool, outer: bool) -> None:
    def change() -> None:
        done(at_once, add("a"), lambda together: together.change(_MOVE, "nobody", must=1), add("b"))

    def within() -> None:
        with transaction.atomic():
            change()

    fails(sql.Mismatch, within if outer else change)


def test_a_refusal_spoils_nothing_of_a_transaction_around_it() -> None:
    with transaction.atomic():
        sql.execute(_ADD, "around")
        with pytest.raises(sql.Mismatch):
            done(True, add("a"), lambda together: together.change(_MOVE, "nobody", must=1))
        sql.execute(_ADD, "later")
    assert names() == {"around", "later"}


@both_ways
def test_what_the_commit_refuses_is_undone(at_once: bool) -> None:
    """A deferred foreign key is looked at by the commit."""
    at = "2026-11-30 00:00:00+00:00"
    fails(IntegrityError, lambda: done(at_once, add("a"), lambda one: one.change(_ORPHAN, at)) and None)


@both_ways
def test_parts_name_each_other_and_one_gives_the_answer(at_once: bool) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite runs each statement as it comes")
    Lease.objects.create(name="a", epoch=7)

    def parts(together: Joint) -> None:
        together.part("found", "SELECT name, epoch FROM common_lease WHERE name = %s FOR UPDATE", "a")
        together.part("moved", "UPDATE common_lease SET epoch = 8 WHERE name IN (SELECT name FROM found) RETURNING 1")
        together.check("(SELECT count(*) FROM moved) = %s", 1)
        together.answer("found.name, found.epoch", "found")

    with CaptureQueriesContext(connection) as queries:
        answered = done(at_once, parts)
    assert answered.rows() == [("a", 7)]
    assert len(queries) <= 1, "BEGIN and COMMIT are no statements of Django's"
    assert Lease.objects.get(name="a").epoch == 8


def test_inside_another_transaction_it_stands_or_falls_with_that() -> None:
    def change() -> None:
        with transaction.atomic():
            done(True, add("a"))
            assert names() == {"a"}
            raise KeyError("the outer one fails")

    fails(KeyError, change)


def test_its_hooks_wait_for_the_transaction_around_it() -> None:
    ran: list[int] = []
    with transaction.atomic():
        done(True, add("a"), lambda together: together.after(lambda: ran.append(1)))
        assert not ran
    assert ran == [1]
