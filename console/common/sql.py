"""Plain statements for the hot paths, where compiling a query takes ten times as long as running it.

While a transaction of SQLite is open nobody else can write, so what news of a replica costs there is written by hand.
Table and column names are those of the models; tests of both databases run every statement.
"""

from collections.abc import Callable, Collection, Iterator, Sized
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections, models
from django.db.backends.utils import CursorDebugWrapper
from django.db.models.sql import Query


def cursor() -> Any:
    """For the hot paths: what a connection has run before is not planned again by PostgreSQL.

    Planning takes longer than running most of it. But a plan that fits any value reads a list of what is rare by
    walking through all of the history (case web 18): the ORM's queries are sent with their values, planned for these.
    """
    here = connections[DEFAULT_DB_ALIAS]  # once: each use of `connection` looks it up
    if here.vendor != "postgresql":
        return here.cursor()
    from django.db.backends.postgresql.base import ServerBindingCursor

    here.ensure_connection()
    with here.wrap_database_errors:
        made: Any = cast(Any, ServerBindingCursor)(here.connection)
    return Logged(made, here) if here.queries_logged else here.make_cursor(made)


class Logged(CursorDebugWrapper):
    """Logs a statement as it was given: in a pipeline the driver does not know yet what it will have sent."""

    def debug_sql(
        self, sql: Any = None, params: Any = None, use_last_executed_query: bool = False, many: bool = False
    ) -> Any:
        return super().debug_sql(sql, params, False, many)


def execute(statement: str, *values: Any) -> int:
    """How many rows it changed."""
    with cursor() as run:
        run.execute(statement, _adapted(values))
        return int(run.rowcount)


def fetch(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Timestamps come as the driver gives them: `console.common.bulk.read_datetime` reads both kinds."""
    with cursor() as run:
        run.execute(statement, _adapted(values))
        return list(run.fetchall())


def first(statement: str, *values: Any) -> tuple[Any, ...] | None:
    rows = fetch(statement, *values)
    return rows[0] if rows else None


class Asked:
    """A statement on its way, and its answer. Raises what the statement raises where it is waited for."""

    def __init__(self, cursor: Any, read: Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]]) -> None:
        self._cursor, self._read = cursor, read
        self._rows: list[tuple[Any, ...]] | None = None

    def rows(self) -> list[tuple[Any, ...]]:
        """Waits for the answer, within `together`; afterwards it is there."""
        if self._rows is None:
            self._rows = self._read(self._cursor.fetchall())
            self._cursor.close()
        return self._rows


def ask(statement: str, *values: Any, read: Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]] = list) -> Asked:
    """A statement that gives rows (a change by RETURNING). Within `together` its answer is not waited for yet."""
    run = cursor()
    run.execute(statement, _adapted(values))
    asked = Asked(run, read)
    if connection.vendor == "sqlite":
        asked.rows()  # a statement that is not read to its end is in the way of a rollback
    return asked


@contextmanager
def together() -> Iterator[None]:
    """What runs inside goes to PostgreSQL without waiting for each answer: each wait costs two changes of process.

    Use it inside a transaction. A refused statement raises where an answer is read, at the latest at the end; a
    cursor's `rowcount` means nothing. SQLite answers at once.
    """
    if connection.vendor != "postgresql":
        yield
        return
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.pipeline():
        yield


class Mismatch(DatabaseError):
    """A statement changed another number of rows than it must: nothing of its transaction was stored."""


def exactly(count: int, change: str, *values: Any) -> None:
    """A change that must meet `count` rows; `change` ends with RETURNING.

    PostgreSQL itself refuses where it does not (a DataError), so that nobody need wait for the answer within
    `together`; on SQLite Mismatch is raised at once. console.common.joint does it for a whole transaction.
    """
    if connection.vendor == "postgresql":
        ask(f"WITH changed AS ({change}) SELECT {unless('count(*) = %s')} FROM changed", *values, count)
        return
    found = len(fetch(change, *values))
    if found != count:
        raise Mismatch(f"{found} rows changed, not {count}")


def unless(condition: str) -> str:
    """An expression that PostgreSQL refuses to compute unless `condition` holds: a division by zero."""
    return f"1 / (CASE WHEN {condition} THEN 1 ELSE 0 END)"


def among(column: str, keys: Collection[int]) -> tuple[str, list[Any]]:
    """A condition and its values. On PostgreSQL it is the same statement for any number of keys: prepared once."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s)", [list(keys)]
    return f"{column} IN ({marks(keys)})", list(keys)


def marks(values: Sized) -> str:
    """ "%s, %s, %s" for an IN list."""
    return ", ".join(["%s"] * len(values))


def _adapted(values: tuple[Any, ...]) -> list[Any]:
    adapt = connection.ops.adapt_datetimefield_value
    return [adapt(value) if isinstance(value, datetime) else value for value in values]


class Reader:
    """Reads rows of models by a statement that is written once: `Reader("WHERE t.slug = %s", t=Tenant)`.

    The first model's table stands in FROM, the others are joined by `rest`. A call gives tuples of instances in the
    order of the models. Values are converted as the ORM does; what it saves is compiling, most of a query's time.
    With `change` it is an UPDATE of one model whose `rest` begins with SET: what it changed, as it is then.
    """

    def __init__(self, rest: str, change: bool = False, **of: type[models.Model]) -> None:
        self.rest, self.change, self.models = rest, change, of
        self._plans: dict[str, tuple[str, Any]] = {}

    def __call__(self, *values: Any, **parts: str) -> list[tuple[Any, ...]]:
        """`parts` fill in what the statement leaves open, such as the marks of an IN list; never a value."""
        return self.ask(*values, **parts).rows()

    def ask(self, *values: Any, **parts: str) -> Asked:
        """The same, its answer not waited for within `together`."""
        statement, converters = self._plan()

        def read(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
            return [tuple(self._instances(row)) for row in self._compiler.apply_converters(rows, converters)]

        return ask(statement.format(**parts) if parts else statement, *values, read=read)

    def first(self, *values: Any) -> tuple[Any, ...] | None:
        rows = self(*values)
        return rows[0] if rows else None

    @property
    def _compiler(self) -> Any:
        return Query(next(iter(self.models.values()))).get_compiler(connection=connection)

    @cached_property
    def _names(self) -> list[list[str]]:
        return [[field.attname for field in model._meta.concrete_fields] for model in self.models.values()]

    def _plan(self) -> tuple[str, Any]:
        if connection.vendor not in self._plans:
            quote = connection.ops.quote_name
            found = [(alias, field) for alias, model in self.models.items() for field in model._meta.concrete_fields]
            columns = ", ".join(f"{alias}.{quote(str(field.column))}" for alias, field in found)
            alias, model = next(iter(self.models.items()))
            table = f"{quote(model._meta.db_table)} AS {alias}"
            statement = f"SELECT {columns} FROM {table} {self.rest}"
            if self.change:
                statement = f"UPDATE {table} {self.rest} RETURNING {columns.replace(f'{alias}.', '')}"
            converters = self._compiler.get_converters([field.get_col(alias) for alias, field in found])
            self._plans[connection.vendor] = (statement, converters)
        return self._plans[connection.vendor]

    def _instances(self, row: list[Any]) -> Any:
        start = 0
        for model, names in zip(self.models.values(), self._names, strict=True):
            yield model.from_db(connection.alias, names, row[start : start + len(names)])
            start += len(names)
