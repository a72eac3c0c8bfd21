"""The engine's plain data as JSON and back. Nothing else is read: what is stored can name no code."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson

T = TypeVar("T")
_OPTIONS = orjson.OPT_NON_STR_KEYS
_LISTS = orjson.OPT_PASSTHROUGH_DATACLASS


def dumps(value: Any) -> bytes:
    """Equal values, equal bytes: fields in the order of their class, sets sorted, numbers in full."""
    return orjson.dumps(value, default=sorted, option=_OPTIONS)


def loads(kind: type[T], text: bytes | str) -> T:
    """Raises ValueError for what is not JSON or not of this kind."""
    value: T = read(kind, orjson.loads(text))
    return value


def digest_of(value: Any) -> str:
    """32 hex digits over an outcome of the engine: all of it, to the last bit of a number."""
    # as lists of values: with the names of the fields it takes three times as long, and each placement pays it
    return blake2b(orjson.dumps(value, default=_values, option=_LISTS), digest_size=16).hexdigest()


def _values(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    kind: Any = type(value)
    return _getter(kind)(value)


@lru_cache(maxsize=64)
def _getter(kind: Any) -> Callable[[Any], Any]:
    return attrgetter(*(field.name for field in fields(kind)))


def read(kind: Any, value: Any) -> Any:
    """A value of JSON as the type that a field declares."""
    if is_dataclass(kind):
        return _dataclass(kind, value)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _union(arguments, value)
    if origin is tuple:
        return _tuple(arguments, value)
    if origin is frozenset:
        return frozenset(read(arguments[0], each) for each in value)
    if origin is dict:
        return {read(arguments[0], key): read(arguments[1], each) for key, each in value.items()}
    if kind is int and isinstance(value, str):
        return int(value)  # the key of a dictionary
    if origin is Literal or kind in (int, float, str, bool, Any):
        return float(value) if kind is float else value
    raise ValueError(f"{kind!r} is no type that the ledger keeps")


def _dataclass(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{kind.__name__}: {value!r} is no record")
    known = _hints(kind)
    if unknown := value.keys() - known.keys():
        raise ValueError(f"{kind.__name__}: {sorted(unknown)} are no fields of it in this version")
    return kind(**{name: read(known[name], each) for name, each in value.items()})


def _union(arguments: tuple[Any, ...], value: Any) -> Any:
    if value is None and NoneType in arguments:
        return None
    wanted = [each for each in arguments if each is not NoneType]
    if len(wanted) == 1:
        return read(wanted[0], value)
    return value  # int or str: JSON keeps them apart


def _tuple(arguments: tuple[Any, ...], value: Any) -> Any:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(read(arguments[0], each) for each in value)
    return tuple(read(one, each) for one, each in zip(arguments, value, strict=True))


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
