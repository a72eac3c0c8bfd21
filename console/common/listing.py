"""Keyset paging for pages and API: as quick at row 100,000 as at row 1, and stable while rows are added."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from console.common import sealed
from console.common.errors import FieldError, InvalidInput

T = TypeVar("T", bound=Model)
DEFAULT_SIZE = 50
MAX_SIZE = 500
NEWEST_FIRST = ("-pk",)
_PURPOSE = "cursor"  # sealed: a bare row number would tell a tenant how much work all others submit


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`rows` in the order of the list; `after` leads to the next ones, `before` to those before; "" for none."""

    rows: list[T] = field(default_factory=list)
    after: str = ""
    before: str = ""


def page_of(
    rows: QuerySet[T], params: Mapping[str, Any], size: int = DEFAULT_SIZE, order: Sequence[str] = NEWEST_FIRST
) -> Page[T]:
    """The page that a URL asks for by `?after=` or `?before=` (templates/components/pager.html)."""
    return keyset(rows, str(params.get("after") or params.get("before") or ""), size, order)


def keyset(
    rows: QuerySet[T], cursor: str = "", size: int = DEFAULT_SIZE, order: Sequence[str] = NEWEST_FIRST
) -> Page[T]:
    """One page of `rows` in `order`, which replaces any ordering of the query.

    `order` names columns that are never NULL and that the query loads, as for order_by, unique together. One query.
    `cursor` is `Page.after` or `Page.before` of an earlier page in this order; InvalidInput when it is not.
    """
    direction, key = _open(cursor, order) if cursor else ("after", None)
    backwards = direction == "before"
    steps = [(name.removeprefix("-"), name.startswith("-") != backwards) for name in order]
    found = rows.order_by(*(f"-{name}" if falls else name for name, falls in steps))
    if key is not None:
        found = found.filter(_past(steps, key))
    batch = list(found[: size + 1])
    more = len(batch) > size
    batch = batch[:size]
    if backwards:
        batch.reverse()
    if not batch:
        return Page()
    has_next, has_earlier = (True, more) if backwards else (more, key is not None)
    return Page(
        rows=batch,
        after=_seal("after", batch[-1], order) if has_next else "",
        before=_seal("before", batch[0], order) if has_earlier else "",
    )


def page_size(text: str) -> int:
    """The `limit` of a URL: 1 to 500, 50 when empty."""
    if not text:
        return DEFAULT_SIZE
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_SIZE):
        raise InvalidInput([FieldError("limit", f"must be a whole number from 1 to {MAX_SIZE}")])
    return int(text)


def _past(steps: Sequence[tuple[str, bool]], key: Sequence[Any]) -> Q:
    """What comes after `key`: (a, b) > (1, 2) is a >= 1 and (a > 1 or b > 2); the first part is what an index uses."""
    (name, falls), *rest = steps
    beyond = Q(**{f"{name}__{'lt' if falls else 'gt'}": key[0]})
    if not rest:
        return beyond
    return Q(**{f"{name}__{'lte' if falls else 'gte'}": key[0]}) & (beyond | _past(rest, key[1:]))


def _seal(direction: str, row: Model, order: Sequence[str]) -> str:
    key = [_value(row, name.removeprefix("-")) for name in order]
    return sealed.seal_text(_purpose(order), json.dumps([direction, *key]))


def _value(row: Any, name: str) -> Any:
    for part in name.split("__"):
        row = getattr(row, part)
    return row


def _open(cursor: str, order: Sequence[str]) -> tuple[str, list[Any]]:
    try:
        direction, *key = json.loads(sealed.unseal_text(_purpose(order), cursor))
    except (sealed.Broken, UnicodeError):
        message = "is not a cursor of this list; take it from `next` of an answer"
        raise InvalidInput([FieldError("cursor", message)]) from None
    return direction, key


def _purpose(order: Sequence[str]) -> str:
    return f"{_PURPOSE} {' '.join(order)}"
