"""The `shell` context processor: all that base.html needs, computed only if a template asks for it."""

from functools import cached_property
from typing import Any

from django.contrib.messages import get_messages
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

    @property
    def zone(self) -> str:
        """The zone of the page's times, for a browser in another to ask again (static/js/zone.js).

        Empty where the person chose the zone, and on an answer that is given once: to a POST, or with a message.
        """
        given_once = self._request.method != "GET" or len(get_messages(self._request))
        return "" if self.preferences.zone_is_chosen or given_once else self.preferences.zone

    @cached_property
    def menu(self) -> list[tuple[navigation.Text, list[navigation.Link]]]:
        if self.actor is None:
            return []
        match = self._request.resolver_match
        return navigation.menu_for(self.actor, match.view_name if match else "", counts.for_actor(self.actor))


def shell(request: HttpRequest) -> dict[str, Any]:
    """{"shell": Shell, "actor": Actor or None}."""
    return {"shell": Shell(request), "actor": getattr(request, "actor", None)}
