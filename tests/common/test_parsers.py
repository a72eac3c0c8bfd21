"""Strict JSON: each refusal names the path of the value."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from console.common.api.parsers import parse_object
from console.common.errors import InvalidInput


@pytest.mark.parametrize(
    ("raw", "field", "word"),
    [
        ('{"a": NaN}', "a", "NaN"),
        ('{"a": [1, Infinity]}', "a[1]", "Infinity"),
        ('{"a": {"b": -Infinity}}', "a.b", "-Infinity"),
        ('{"a": 1e309}', "a", "1e309"),
        ('{"a": -1e400}', "a", "too large"),
        ('{"a": 1' + "0" * 309 + "}", "a", "64 bits"),
        ('{"a": 9223372036854775808}', "a", "64 bits"),
        ('{"a": 1' + "0" * 5000 + "}", "a", "64 bits"),
        ('{"a": 1, "a": 1}', "a", "twice"),
        ('{"r": [{"x": 1, "x": 2}]}', "r[0].x", "twice"),
        ('{"a": ["x", "y\\u0000"]}', "a[1]", "NUL"),
        ('{"a\\u0000b": 1}', "body", "NUL"),
        ('{"a": "\\ud800"}', "a", "surrogate"),
        ("[1]", "body", "object"),
        ("3", "body", "object"),
        ("null", "body", "object"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "a", "nested"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "body", "nested"),
    ],
)
def test_refused(raw: str, field: str, word: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_object(raw.encode())
    assert [error.field for error in refusal.value.errors] == [field]
    assert word in refusal.value.errors[0].message


@pytest.mark.parametrize("raw", [b'{"a": 1', b"{'a': 1}", b'{"a": .5}', b"\xff\xfe{", b'{"a": "\x00"}', b"hello"])
def test_not_json(raw: bytes) -> None:
    with pytest.raises(ParseError):
        parse_object(raw)


def test_empty_is_an_empty_object() -> None:
    assert parse_object(b"") == parse_object(b" \n") == {}


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_TEXT, _VALUES, max_size=5))
def test_good_json_comes_through_unchanged(value: dict[str, Any]) -> None:
    assert parse_object(json.dumps(value).encode()) == value
