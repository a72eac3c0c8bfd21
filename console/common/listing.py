"""Keyset paging for pages and API: as quick at row 100,000 as at row 1, and stable while rows are added."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

from console.common import sealed
from console.common.errors import FieldError, InvalidInput

T = TypeVar("T", bound=Model)
DEFAULT_SIZE = 50
MAX_SIZE = 500
_PURPOSE = "cursor"  # sealed: a bare row number would tell a tenant how much work all others submit


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`rows`, newest first; `after` leads to older rows, `before` to newer ones; "" where there are none."""

    rows: list[T] = field(default_factory=list)
    after: str = ""
    before: str = ""


def page_of(rows: QuerySet[T], params: Mapping[str, Any], size: int = DEFAULT_SIZE) -> Page[T]:
    """The page that a URL asks for by `?after=` or `?before=` (templates/components/pager.html)."""
    return keyset(rows, str(params.get("after") or params.get("before") or ""), size)


def keyset(rows: QuerySet[T], cursor: str = "", size: int = DEFAULT_SIZE) -> Page[T]:
    """One page of `rows` by descending primary key; any ordering of the query is replaced.

    One query. `cursor` is `Page.after` or `Page.before` of an earlier page; InvalidInput when it is not.
    """
    direction, key = _open(cursor) if cursor else ("after", None)
    backwards = direction == "before"
    found = rows.order_by("pk" if backwards else "-pk")
    if key is not None:
        found = found.filter(pk__gt=key) if backwards else found.filter(pk__lt=key)
    batch = list(found[: size + 1])
    more = len(batch) > size
    batch = batch[:size]
    if backwards:
        batch.reverse()
    if not batch:
        return Page()
    has_older, has_newer = (True, more) if backwards else (more, key is not None)
    return Page(
        rows=batch,
        after=_seal("after", batch[-1].pk) if has_older else "",
        before=_seal("before", batch[0].pk) if has_newer else "",
    )


def page_size(text: str) -> int:
    """The `limit` of a URL: 1 to 500, 50 when empty."""
    if not text:
        return DEFAULT_SIZE
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_SIZE):
        raise InvalidInput([FieldError("limit", f"must be a whole number from 1 to {MAX_SIZE}")])
    return int(text)


def _seal(direction: str, key: Any) -> str:
    return sealed.seal_text(_PURPOSE, f"{direction}:{key}")


def _open(cursor: str) -> tuple[str, int]:
    try:
        direction, _, key = sealed.unseal_text(_PURPOSE, cursor).partition(":")
    except (sealed.Broken, UnicodeError):
        message = "is not a cursor of this server; take it from `next` of a list"
        raise InvalidInput([FieldError("cursor", message)]) from None
    return direction, int(key)
