"""Every route of the URL configuration, and how to fill one in."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def all_routes() -> dict[str, Any]:
    """Route text -> view, such as "api/v1/jobs/<str:public_id>"."""
    return dict(_walk(get_resolver().url_patterns, ""))


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield route, pattern.callback


def declared_methods(view: Any) -> set[str] | None:
    """Methods of a class-based view; None where only asking tells."""
    kind = getattr(view, "cls", None) or getattr(view, "view_class", None)
    if kind is None:
        return None
    return {method for method in METHODS if hasattr(kind, method.lower())}


def fill(route: str, ids: dict[tuple[str, str], str]) -> str:
    """The path of a route for the objects in `ids`, by whole route or by its first part; fails where there is none."""
    parts = route.removeprefix("api/v1/").removeprefix("billing/").removeprefix("settings/").split("/")

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return ids.get((route, name)) or ids[parts[0], name]

    return "/" + _PARAMETER.sub(value, route)
