"""A person's look and language: on the account when signed in, in cookies for the browser before that."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest

THEMES = ("system", "light", "dark")
THEME_COOKIE = "weir_theme"
SHORTCUTS_COOKIE = "weir_shortcuts"
ZONE_COOKIE = "weir_zone"
COOKIE_AGE_S = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Preferences:
    """`theme` is one of THEMES; `zone` an IANA name, or empty for UTC."""

    theme: str
    shortcuts: bool
    zone: str


def read(request: HttpRequest) -> Preferences:
    """The account wins over the browser's cookies; nonsense in either falls back to the default."""
    user = getattr(request, "user", None)
    theme = getattr(user, "theme", "") or request.COOKIES.get(THEME_COOKIE, "")
    zone = getattr(user, "time_zone", "") or request.COOKIES.get(ZONE_COOKIE, "")
    return Preferences(
        theme=theme if theme in THEMES else "system",
        shortcuts=request.COOKIES.get(SHORTCUTS_COOKIE) != "off",
        zone=zone if is_zone(zone) else "",
    )


def is_zone(name: str) -> bool:
    return name in available_zones()


_ZONES: frozenset[str] = frozenset()


def available_zones() -> frozenset[str]:
    """IANA names; read from disk once (it walks the zone folder)."""
    global _ZONES
    if not _ZONES:
        _ZONES = frozenset(available_timezones())
    return _ZONES


def zone_info(name: str) -> ZoneInfo:
    return ZoneInfo(name or "UTC")
