"""A transaction as one statement, for the hot paths.

A statement that is sent by itself costs sender and PostgreSQL a tenth of a millisecond or more besides what it does,
and so do BEGIN and COMMIT (docs/decisions/0020). Here the changes of a transaction are gathered and go to
PostgreSQL as the parts of one WITH, which is a transaction by itself: all of it or nothing. On SQLite, which is no
other process, each runs as it comes, in a transaction.

All parts see what was committed before the statement began, never what another part changes. A part that must come
after another names it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import count
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DataError, connections, transaction
from psycopg import RawCursor

from console.common import sql

_DIVISION_BY_ZERO = "22012"


@contextmanager
def joint(at_once: bool = True) -> Iterator["Joint"]:
    """A transaction whose changes are given to a Joint. It is committed at the end, and hooks given to `after` run.

    Without `at_once` it has only been sent then, on PostgreSQL: nothing may be asked of the database until its `wait`
    has come back. Raises sql.Mismatch where a number of rows was another than it must be, and what the database
    refuses: at the end, or from `wait`. Nothing was stored then. Inside another transaction it stands or falls with it.
    """
    here = connections[DEFAULT_DB_ALIAS]
    if here.vendor != "postgresql":
        with transaction.atomic():
            yield Joint(here, gathers=False)
        return
    made = Joint(here, gathers=True)
    yield made
    if at_once or here.in_atomic_block:
        made.run()
    else:
        made.send()


class Joint:
    """The changes of one transaction. `gathers`: they run together at the end; otherwise each at once."""

    def __init__(self, here: Any, gathers: bool) -> None:
        self.gathers = gathers
        self._here = here
        self._parts: list[tuple[str, str]] = []
        self._values: list[Any] = []
        self._checks: list[str] = []
        self._bounds: list[Any] = []  # values of the checks, which stand behind the parts
        self._answer = ""
        self._hooks: list[Callable[[], None]] = []
        self._rows: list[tuple[Any, ...]] = []
        self._sent: tuple[ExitStack, Any] | None = None

    def change(self, statement: str, *values: Any, must: int | None = None) -> None:
        """`must`: how many rows it has to give, by RETURNING."""
        if not self.gathers:
            _at_once(statement, values, must)
            return
        name = f"p{len(self._parts)}"
        self.part(name, statement, *values)
        if must is not None:
            self.check(f"(SELECT count(*) FROM {name}) = %s", must)

    def part(self, name: str, statement: str, *values: Any) -> None:
        """A statement that others can name. Where it gathers only, as the next two."""
        self._parts.append((name, statement))
        self._values.extend(values)

    def check(self, condition: str, *values: Any) -> None:
        """What must hold of the parts. A part that only reads runs only where a check or another part names it."""
        self._checks.append(condition)
        self._bounds.extend(values)

    def answer(self, columns: str, part: str) -> None:
        """What `rows` gives."""
        self._answer = f", {columns} FROM (SELECT) AS always LEFT JOIN {part} ON TRUE"

    def tell(self, rows: list[tuple[Any, ...]]) -> None:
        """What `rows` gives where it does not gather."""
        self._rows = rows

    def rows(self) -> list[tuple[Any, ...]]:
        """The answer, after the end or `wait`."""
        return self._rows

    def after(self, hook: Callable[[], None]) -> None:
        """To run once it is committed."""
        if self.gathers:
            self._hooks.append(hook)
        else:
            transaction.on_commit(hook)

    def run(self) -> None:
        with ExitStack() as stack:
            if self._here.in_atomic_block:
                stack.enter_context(transaction.atomic())  # a refusal must not spoil the transaction around it
            self._here.ensure_connection()
            stack.enter_context(_mismatches())
            stack.enter_context(self._here.wrap_database_errors)
            self._take(_seal(self._execute))
        self._end()

    def send(self) -> None:
        self._here.ensure_connection()
        link = self._here.connection
        with ExitStack() as stack:
            stack.push(lambda kind, *_: _undo(link) if kind else None)
            stack.enter_context(_mismatches())
            stack.enter_context(self._here.wrap_database_errors)
            stack.enter_context(link.pipeline())
            link.execute("BEGIN")
            cursor = self._execute()
            _seal(lambda: link.execute("COMMIT"))
            self._sent = stack.pop_all(), cursor

    def wait(self) -> None:
        """For what was sent. Once."""
        if self._sent is None:
            return
        (stack, cursor), self._sent = self._sent, None
        stack.close()
        self._take(cursor)
        self._end()

    def _take(self, cursor: Any) -> None:
        self._rows = [row[1:] for row in cursor.fetchall()]

    def _end(self) -> None:
        _tell(self._hooks)

    def _execute(self) -> Any:
        """The driver's own cursor, whose values are numbered: to find their marks in the text takes longer."""
        cursor: Any = RawCursor(self._here.connection)
        if self._here.queries_logged:
            cursor = sql.Logged(cursor, self._here)
        statement = _composed(tuple(self._parts), tuple(self._checks), self._answer)
        cursor.execute(statement, [*self._values, *self._bounds])
        return cursor


def _at_once(statement: str, values: tuple[Any, ...], must: int | None) -> None:
    if must is None:
        sql.execute(statement, *values)
    else:
        sql.exactly(must, statement, *values)


@lru_cache(maxsize=256)
def _composed(parts: tuple[tuple[str, str], ...], checks: tuple[str, ...], answer: str) -> str:
    """The statement, with $1, $2... for each %s."""
    named = ", ".join(f"{name} AS ({statement})" for name, statement in parts)
    held = sql.unless(" AND ".join(checks)) if checks else "1"
    pieces = f"WITH {named} SELECT {held}{answer}".split("%s")
    numbers = count(1)
    return pieces[0] + "".join(f"${next(numbers)}{piece}" for piece in pieces[1:])


def _seal(commit: Callable[[], Any]) -> Any:
    """The moment from which it is stored. By itself, as the next, for tests that end a process here."""
    return commit()


def _tell(hooks: list[Callable[[], None]]) -> None:
    for hook in hooks:
        transaction.on_commit(hook)  # at once, or with the transaction around


@contextmanager
def _mismatches() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        if getattr(error.__cause__, "sqlstate", "") != _DIVISION_BY_ZERO:
            raise
        raise sql.Mismatch(str(error)) from error


def _undo(link: Any) -> None:
    if not link.closed:
        link.rollback()
