"""JSON as it should be: what the standard library lets through and a database or a sum cannot bear is refused.

Refused, each with the path of the value: NaN and infinities, numbers beyond 64 bits or a double
(`1e309`, `10**309`), a key given twice, NUL or a lone surrogate in a text, nesting past 40, bodies past 1 MiB.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from console.common.api.problems import PayloadTooLarge
from console.common.errors import FieldError, InvalidInput

_MAX_DEPTH = 40
_MAX_INTEGER_DIGITS = 20
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class _Bad:
    """Stands where a refused value stood, until the walk names its path."""

    message: str


class StrictJSONParser(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise PayloadTooLarge()
        return parse_object(raw)


def parse_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`; an empty body is an empty object. Raises ParseError or InvalidInput."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(
            raw.decode("utf-8-sig"),
            parse_constant=lambda text: _Bad(f"{text} is not a number that can be used; give a finite one"),
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise ParseError(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        raise ParseError(f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise InvalidInput([FieldError("body", f"is nested deeper than {_MAX_DEPTH} levels")]) from None
    if not isinstance(value, dict):
        raise InvalidInput([FieldError("body", 'must be a JSON object, such as {"name": "train"}')])
    errors = list(_walk(value, "", 1))
    if errors:
        raise InvalidInput(errors[:20])
    return value


def _float(text: str) -> float | _Bad:
    value = float(text)
    return value if math.isfinite(value) else _Bad(f"{_short(text)} is too large; give a finite number")


def _int(text: str) -> int | _Bad:
    if len(text) > _MAX_INTEGER_DIGITS or not -_INT64 <= int(text) < _INT64:
        return _Bad(f"{_short(text)} is too large; whole numbers fit in 64 bits")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        values[key] = _Bad("is given twice; give it once") if key in values else value
    return values


def _walk(value: Any, path: str, depth: int) -> Iterator[FieldError]:
    if isinstance(value, _Bad):
        yield FieldError(path, value.message)
    elif isinstance(value, str):
        if problem := _text_problem(value):
            yield FieldError(path, problem)
    elif isinstance(value, (dict, list)) and depth > _MAX_DEPTH:
        yield FieldError(path.split(".")[0].split("[")[0], f"is nested deeper than {_MAX_DEPTH} levels")
    elif isinstance(value, dict):
        for key, item in value.items():
            if problem := _text_problem(key):
                yield FieldError(path or "body", f"has a field name that {problem}")
            else:
                yield from _walk(item, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]", depth + 1)


def _text_problem(text: str) -> str:
    if "\0" in text:
        return "contains the NUL character, which is not allowed"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains half of a surrogate pair, which is not text"
    return ""


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}…"
