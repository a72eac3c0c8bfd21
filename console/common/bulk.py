"""Inserts many rows of several tables in one go, for the hot paths.

Django's bulk_create asks the database for the keys of each table and compiles each statement anew. Here the keys
of all tables are reserved by one query, so that rows may point at each other before any of them is stored. SQLite
takes one prepared executemany a table, PostgreSQL one prepared statement for all of them, each table's rows as one
JSON document: a parameter a column and a message a row cost it more than the rows.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

import orjson
from django.db import connection, models
from django.db.models.base import ModelState
from django.utils.functional import Promise

from console.common import sql
from console.common.joint import Joint

Convert = Callable[[Any], Any]
Row = TypeVar("Row", bound=models.Model)


def read_duration(value: Any) -> timedelta | None:
    """A duration of a raw cursor: an interval on PostgreSQL, microseconds on SQLite."""
    return timedelta(microseconds=value) if isinstance(value, int) else value


class Keys:
    """Primary keys that are reserved for unsaved rows, asked for before it is certain that they are all needed.

    With a `stock` PostgreSQL is asked for more at a time. Only for tables that one process at a time adds to: keys out
    of the stocks of two say nothing of what came first.
    """

    def __init__(self, wanted: Mapping[type[models.Model], int], stock: "Stock | None" = None) -> None:
        self._wanted = {model._meta.db_table: n for model, n in wanted.items()}
        self._keys: dict[str, deque[int]] | None = None
        if connection.vendor == "sqlite":
            self._asked = _ask_sqlite(self._wanted)
        elif stock is not None and stock.holds(self._wanted):
            self._keys = stock.keys
        else:
            self._stock = stock
            self._asked = _ask_postgresql({name: n + (_MORE if stock else 0) for name, n in self._wanted.items()})

    def known(self) -> frozenset[str]:
        """The tables whose keys are reserved here. The database numbers the rows of others."""
        return frozenset(self._wanted)

    def number(self, groups: Sequence[Sequence[models.Model]]) -> None:
        """Sets the primary keys of these rows, at most as many of each model as were asked for."""
        if self._keys is None:
            self._keys = self._read(self._asked.rows())
        for group in groups:
            keys = self._keys.get(group[0]._meta.db_table)
            if keys is None:
                continue
            for row in group:
                row.pk = keys.popleft()

    def _read(self, rows: list[tuple[Any, ...]]) -> dict[str, deque[int]]:
        if connection.vendor == "sqlite":
            last = dict(rows)
            ends = {table: (last.get(table, 0) + 1, n) for table, n in self._wanted.items()}
            return {table: deque(range(first, first + n)) for table, (first, n) in ends.items()}
        keys: dict[str, deque[int]] = {} if self._stock is None else self._stock.keys
        for table, key in rows:
            keys.setdefault(table, deque()).append(key)
        return keys


_MORE = 512


@dataclass
class Stock:
    """Keys that a process has reserved beyond what it needed. Sequences do not go back with a transaction."""

    keys: dict[str, deque[int]] = made(default_factory=dict)

    def holds(self, wanted: Mapping[str, int]) -> bool:
        return all(len(self.keys.get(table, ())) >= n for table, n in wanted.items())


def ahead(wanted: Mapping[type[models.Model], int]) -> Keys | None:
    """Keys for a transaction that comes later, asked for with what is read before it; the caller uses them or not.

    None on SQLite, where only whoever holds the write lock knows which are free.
    """
    return Keys(wanted) if connection.vendor == "postgresql" else None


def counts(groups: Sequence[Sequence[models.Model]]) -> dict[type[models.Model], int]:
    """How many rows of each model. Two groups of one model are not needed and not supported."""
    found = {type(group[0]): len(group) for group in groups if group}
    if len(found) != sum(map(bool, groups)):
        raise ValueError("two groups of the same model: join them")
    return found


def insert(*groups: Sequence[models.Model], keys: Keys | None = None, within: Joint | None = None) -> None:
    """Stores groups of unsaved rows, each group of one model, in this order; sets their primary keys.

    Call inside a transaction, or give the one that gathers. Foreign keys may point at unsaved rows of any group.
    Model.save() is not called. `keys`, of the same transaction, spare the question for them: what is not among them is
    numbered by the database, and those rows do not know their keys.
    """
    gathers = within is not None and within.gathers
    if not gathers and not connection.in_atomic_block:
        raise RuntimeError("bulk.insert needs a transaction: the reserved keys belong to it")
    filled = [group for group in groups if group]
    if not filled:
        return
    keys = keys or Keys(counts(filled))
    keys.number(filled)
    if within is not None and gathers:
        for group in filled:
            within.change(_statement(*_kind(group, keys)), _document(group))
    else:
        _store(filled, keys)
    for group in filled:
        for row in group:
            row._state.adding, row._state.db = False, connection.alias


def _kind(group: Sequence[models.Model], keys: Keys) -> tuple[type[models.Model], bool]:
    """Of which model it is, and whether its keys are reserved."""
    return type(group[0]), group[0]._meta.db_table in keys.known()


def _store(filled: Sequence[Sequence[models.Model]], keys: Keys) -> None:
    with sql.cursor() as cursor:
        if connection.vendor == "postgresql":
            statement = _joint_statement(tuple(_kind(group, keys) for group in filled))
            cursor.execute(statement, [_document(group) for group in filled])
            return
        for group in filled:
            plan = _plan(type(group[0]), connection.vendor)
            cursor.executemany(plan.statement, [_values(row, plan) for row in group])


def new(model: type[Row], **values: Any) -> Row:
    """An unsaved row for `insert`, without Model.__init__: that took a third of the time of a large batch.

    `values` name fields; a foreign key is given by its object or by its `_id`. What is not named has its default.
    """
    row = model.__new__(model)
    row._state = ModelState()
    facts = row.__dict__
    constant, made, relations = _defaults(model)
    facts.update(constant)
    for name, value in values.items():
        attribute = relations.get(name)
        if attribute is None:
            facts[name] = value
        else:
            facts[attribute] = value.pk
            row._state.fields_cache[name] = value
    for name, default in made.items():
        if name not in values:
            facts[name] = default()
    return row


@lru_cache(maxsize=64)
def _defaults(model: type[models.Model]) -> tuple[dict[str, Any], dict[str, Callable[[], Any]], dict[str, str]]:
    """Constant defaults by attribute, defaults that are made anew for each row, and foreign keys by name."""
    constant: dict[str, Any] = {}
    made: dict[str, Callable[[], Any]] = {}
    relations: dict[str, str] = {}
    for field in model._meta.concrete_fields:
        if field.is_relation:
            relations[field.name] = field.attname
        if field.has_default() and callable(field.default):
            made[field.attname] = field.default
        constant[field.attname] = None if callable(field.default) else field.get_default()
    return constant, made, relations


def read_datetime(value: Any) -> datetime:
    """A timestamp of a raw cursor: PostgreSQL gives an aware one, SQLite one without a zone, or text; both in UTC."""
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _ask_sqlite(wanted: dict[str, int]) -> sql.Asked:
    """The transaction is IMMEDIATE: it holds the only write lock, so what follows the highest key is free."""
    return sql.ask(f"SELECT name, seq FROM sqlite_sequence WHERE name IN ({sql.marks(wanted)})", *wanted)


def _ask_postgresql(wanted: dict[str, int]) -> sql.Asked:
    parts = ["SELECT %s, nextval(%s::regclass) FROM generate_series(1, %s)"] * len(wanted)
    return sql.ask(
        " UNION ALL ".join(parts), *(word for table, n in wanted.items() for word in (table, _sequence(table), n))
    )


@lru_cache(maxsize=64)
def _sequence(table: str) -> str:
    """The name of the sequence of the primary key; asking for it each time cost more than the keys."""
    return str(sql.fetch("SELECT pg_get_serial_sequence(%s, 'id')", table)[0][0])


@lru_cache(maxsize=64)
def _joint_statement(of: tuple[tuple[type[models.Model], bool], ...]) -> str:
    """One INSERT a model. Foreign keys and triggers look when all of it has ended."""
    parts = [_statement(*kind) for kind in of]
    first = ", ".join(f"part_{place} AS ({part})" for place, part in enumerate(parts[:-1]))
    return f"WITH {first} {parts[-1]}" if first else parts[-1]


@lru_cache(maxsize=64)
def _statement(model: type[models.Model], with_key: bool) -> str:
    table = connection.ops.quote_name(model._meta.db_table)
    fields = [field for field in model._meta.concrete_fields if with_key or not field.primary_key]
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, %s::json)"


def _document(group: Sequence[models.Model]) -> str:
    """Rows of one model as a JSON array of objects, by column."""
    plan = _plan(type(group[0]), "postgresql")
    return orjson.dumps([_columns(row, plan) for row in group], default=_plain).decode()


def _columns(row: models.Model, plan: "Plan") -> dict[str, Any]:
    values: dict[str, Any] = dict(zip(plan.columns, plan.read(row.__dict__), strict=True))
    for place, name in plan.relations:
        if values[plan.columns[place]] is None and (known := row._state.fields_cache.get(name)) is not None:
            values[plan.columns[place]] = known.pk  # it was unsaved when this row was made
    return values


def _plain(value: Any) -> str:
    """What JSON has no word for, as PostgreSQL reads it."""
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)} microseconds"
    if isinstance(value, bytes | memoryview):
        return f"\\x{bytes(value).hex()}"
    if isinstance(value, Decimal | Promise):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not known to be stored by bulk.insert")


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows of a model become values: read all at once, then mend the few that the driver would not take."""

    statement: str
    columns: tuple[str, ...]
    read: Callable[[dict[str, Any]], tuple[Any, ...]]  # of a row's attributes, one a column
    convert: tuple[tuple[int, Convert], ...]  # column -> what to do with a value that is not null
    texts: tuple[int, ...]  # members of TextChoices are to be plain
    numbers: tuple[int, ...]
    relations: tuple[tuple[int, str], ...]  # foreign keys and the names of their objects


@lru_cache(maxsize=64)
def _plan(model: type[models.Model], vendor: str) -> Plan:
    fields = model._meta.concrete_fields
    quote = connection.ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    convert, texts, numbers = [], [], []
    for place, field in enumerate(fields):
        if isinstance(field, models.CharField | models.TextField):
            texts.append(place)
        elif isinstance(field, models.IntegerField) and not isinstance(field, models.AutoField):
            numbers.append(place)
        elif (converter := _converter(field)) is not None:
            convert.append((place, converter))
    return Plan(
        f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})",
        tuple(str(field.column) for field in fields),
        itemgetter(*(field.attname for field in fields)),
        tuple(convert),
        tuple(texts),
        tuple(numbers),
        tuple((place, field.name) for place, field in enumerate(fields) if field.is_relation),
    )


def _converter(field: "models.Field[Any, Any]") -> Convert | None:
    if isinstance(field, models.JSONField):
        return lambda value: orjson.dumps(value).decode()
    if isinstance(field, models.DateTimeField):
        return _adapted_sqlite if connection.vendor == "sqlite" else None
    if field.is_relation or isinstance(field, models.BooleanField | models.AutoField):
        return None
    return lambda value: field.get_db_prep_save(value, connection)


@lru_cache(maxsize=256)
def _adapted_sqlite(value: datetime) -> Any:
    """The rows of one transaction share few times, and adapting one takes longer than storing it."""
    return connection.ops.adapt_datetimefield_value(value)


def _values(row: models.Model, plan: Plan) -> list[Any]:
    values = list(plan.read(row.__dict__))
    for place, name in plan.relations:
        if values[place] is None and (known := row._state.fields_cache.get(name)) is not None:
            values[place] = known.pk  # it was unsaved when this row was made
    for place in plan.texts:
        if values[place].__class__ is not str and values[place] is not None:
            values[place] = str(values[place])
    for place in plan.numbers:
        if values[place].__class__ is not int and values[place] is not None:
            values[place] = int(values[place])
    for place, convert in plan.convert:
        if values[place] is not None:
            values[place] = convert(values[place])
    return values
