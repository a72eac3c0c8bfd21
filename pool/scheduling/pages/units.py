"""What people type for amounts: "1/8", "25 %", "16 GiB", "2.5" cores. Errors say what would be right."""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(mib|m|gib|g|tib|t)?", re.IGNORECASE)
_FACTORS = {"m": 1, "g": 1024, "t": 1024 * 1024}


def share(text: str) -> str:
    """A share of a card as the decimal text that the specification takes: "1/8" -> "0.125"."""
    wrong = ValidationError(_("Write a share of one card, such as 1/8, 0.25 or 25 %."))
    cleaned = text.strip().replace(" ", "")
    try:
        if cleaned.endswith("%"):
            value = Decimal(cleaned[:-1]) / 100
        elif "/" in cleaned:
            top, _slash, bottom = cleaned.partition("/")
            part = Fraction(int(top), int(bottom))
            value = Decimal(part.numerator) / Decimal(part.denominator)
        else:
            value = Decimal(cleaned)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise wrong from None
    if not value.is_finite() or not 0 < value <= 1:
        raise wrong
    return format(value.normalize(), "f")


def mebibytes(text: str) -> int:
    """Plain numbers are MiB; "16 GiB", "16g" and "0.5 TiB" work too."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValidationError(_("Write an amount of memory, such as 4096 (MiB) or 16 GiB."))
    factor = _FACTORS[(match[2] or "m")[0].lower()]
    value = Decimal(match[1]) * factor
    if value != value.to_integral_value() or value < 1:
        raise ValidationError(_("Must be whole MiB of at least 1."))
    return int(value)


def sizes(text: str) -> int | list[int] | None:
    """One size for every device, or a list with commas, one a device."""
    parts = [part for part in re.split(r"[,，]", text) if part.strip()]
    if not parts:
        return None
    values = [mebibytes(part) for part in parts]
    return values[0] if len(values) == 1 else values
