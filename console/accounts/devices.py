"""What a person calls a browser, from the words that it sends of itself: "Firefox on Linux"."""

from django.utils.translation import gettext as _

# the first that is found counts: Edge calls itself Chrome too, and Chrome calls itself Safari
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def name_of(words: str) -> str:
    browser = next((name for mark, name in _BROWSERS if mark in words), "")
    system = next((name for mark, name in _SYSTEMS if mark in words), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or words[:40] or _("unknown browser")
