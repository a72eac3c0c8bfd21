"""The `shell` context processor: all that base.html needs, computed only if a template asks for it."""

from functools import cached_property
from typing import Any

from django.http import HttpRequest

from console.common.actor import Actor
from console.web import counts, navigation, preferences


class Shell:
    """Read by templates/base.html; each part costs nothing until it is read."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self.actor: Actor | None = getattr(request, "actor", None)

    @cached_property
    def preferences(self) -> preferences.Preferences:
        return preferences.read(self._request)

    @property
    def theme(self) -> str:
        return self.preferences.theme

    @property
    def shortcuts(self) -> bool:
        return self.preferences.shortcuts

    @cached_property
    def menu(self) -> list[tuple[navigation.Text, list[navigation.Link]]]:
        if self.actor is None:
            return []
        match = self._request.resolver_match
        return navigation.menu_for(self.actor, match.view_name if match else "", counts.for_actor(self.actor))


def shell(request: HttpRequest) -> dict[str, Any]:
    """{"shell": Shell, "actor": Actor or None}."""
    return {"shell": Shell(request), "actor": getattr(request, "actor", None)}
