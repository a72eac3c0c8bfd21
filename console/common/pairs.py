"""Lines of NAME=value, as people type environments and labels."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


def pairs(text: str) -> dict[str, str]:
    """Lines of NAME=value; empty lines are skipped."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ValidationError(_("Line %(number)s must read NAME=value.") % {"number": number})
        if name.strip() in found:
            raise ValidationError(_("Line %(number)s names %(name)s again.") % {"number": number, "name": name.strip()})
        found[name.strip()] = value
    return found
