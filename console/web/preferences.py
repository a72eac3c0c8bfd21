"""A person's look and language: on the account when signed in, in cookies for the browser before that."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote
from zoneinfo import available_timezones

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

THEMES = ("system", "light", "dark")
THEME_LABELS = [("system", _("As the system")), ("light", _("Light")), ("dark", _("Dark"))]
THEME_COOKIE = "weir_theme"
SHORTCUTS_COOKIE = "weir_shortcuts"
ZONE_COOKIE = "weir_zone"
COOKIE_AGE_S = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Preferences:
    """`theme` is one of THEMES; `zone` an IANA name, `zone_is_chosen` by the person and not just the browser's."""

    theme: str
    shortcuts: bool
    zone: str
    zone_is_chosen: bool


def read(request: HttpRequest) -> Preferences:
    """The account wins over the browser's cookies; nonsense in either falls back to the default.

    A browser that has not said its zone yet is taken to be where the bills are written.
    """
    user = getattr(request, "user", None)
    theme = getattr(user, "theme", "") or request.COOKIES.get(THEME_COOKIE, "")
    chosen = getattr(user, "time_zone", "")
    zones = (chosen, unquote(request.COOKIES.get(ZONE_COOKIE, "")), settings.WEIR_BILLING_ZONE)
    return Preferences(
        theme=theme if theme in THEMES else "system",
        shortcuts=request.COOKIES.get(SHORTCUTS_COOKIE) != "off",
        zone=next((zone for zone in zones if zone in available_zones()), "UTC"),
        zone_is_chosen=chosen in available_zones(),
    )


@dataclass(frozen=True, slots=True)
class Change:
    """What a form asks to change; None leaves a thing as it is."""

    language: str | None = None
    theme: str | None = None
    time_zone: str | None = None
    shortcuts: str | None = None

    @classmethod
    def of(cls, data: Mapping[str, str]) -> "Change":
        return cls(**{name: data.get(name) for name in ("language", "theme", "time_zone", "shortcuts")})

    def valid(self) -> bool:
        return (
            (self.language is None or self.language in dict(settings.LANGUAGES))
            and (self.theme is None or self.theme in THEMES)
            and (not self.time_zone or self.time_zone in available_zones())
            and (self.shortcuts is None or self.shortcuts in {"on", "off"})
        )

    def cookies(self) -> dict[str, str]:
        """The browser keeps the same, so that the sign-in page looks as the console does."""
        wanted = {
            settings.LANGUAGE_COOKIE_NAME: self.language,
            THEME_COOKIE: self.theme,
            ZONE_COOKIE: self.time_zone or None,
            SHORTCUTS_COOKIE: self.shortcuts,
        }
        return {name: value for name, value in wanted.items() if value is not None}


@cache
def available_zones() -> frozenset[str]:
    """IANA names; read from disk once (it walks the zone folder)."""
    return frozenset(available_timezones())
