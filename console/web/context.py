"""The `shell` context processor: all that base.html needs, computed only if a template asks for it."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from console.common.actor import Actor
from console.web import navigation, preferences


@dataclass(frozen=True, slots=True)
class Shell:
    """Read by templates/base.html."""

    theme: str
    shortcuts: bool
    zone: str
    actor: Actor | None
    menu: list[tuple[navigation.Text, list[navigation.Link]]]


def shell(request: HttpRequest) -> dict[str, Any]:
    """{"shell": Shell, "actor": Actor or None}."""
    return {"shell": SimpleLazyObject(lambda: _build(request)), "actor": getattr(request, "actor", None)}


def _build(request: HttpRequest) -> Shell:
    chosen = preferences.read(request)
    actor: Actor | None = getattr(request, "actor", None)
    match = getattr(request, "resolver_match", None)
    menu = []
    if actor is not None:
        menu = navigation.menu_for(actor, match.view_name if match else "", {})
    return Shell(chosen.theme, chosen.shortcuts, chosen.zone, actor, menu)
