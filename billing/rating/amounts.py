"""Exact amounts and their one rounding."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

US_PER_HOUR = 3_600_000_000
_WIDE = Context(prec=60, rounding=ROUND_HALF_UP)
# ISO 4217 minor units that are not two digits
_DIGITS = {"JPY": 0, "KRW": 0, "VND": 0, "CLP": 0, "ISK": 0, "BHD": 3, "JOD": 3, "KWD": 3, "OMR": 3, "TND": 3}


def digits(currency: str) -> int:
    """Digits after the point of an amount that can be paid (ISO 4217)."""
    return _DIGITS.get(currency, 2)


def exact_amount(price: Decimal, share: Fraction, microseconds: int) -> Fraction:
    """Price of a card-hour x share of a card x time, with nothing lost."""
    return Fraction(price) * share * Fraction(microseconds, US_PER_HOUR)


def round_half_up(value: Fraction, places: int) -> Decimal:
    """To `places` decimals, halves away from zero; integer arithmetic, so no binary or context rounding."""
    scaled = abs(value) * 10**places
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    if 2 * rest >= scaled.denominator:
        whole += 1
    return Decimal(whole if value >= 0 else -whole).scaleb(-places, _WIDE)


def money(value: Fraction, currency: str) -> Decimal:
    """An amount that can be paid, rounded half-up."""
    return round_half_up(value, digits(currency))


def card_hours(card_microseconds: Fraction | int, places: int = 6) -> Decimal:
    return round_half_up(Fraction(card_microseconds) / US_PER_HOUR, places)


def largest_remainder(total: Decimal, weights: Sequence[Fraction | int], places: int) -> list[Decimal]:
    """Splits `total` in proportion to `weights` so that the parts add up to it exactly.

    Each part is rounded toward zero; the units left over go, one each, to the largest remainders, and among
    equal remainders to the first (Hamilton's method). A negative total is split as its opposite.
    """
    if total < 0:
        return [-part for part in largest_remainder(-total, weights, places)]
    whole = Fraction(total) * 10**places
    if whole.denominator != 1:
        raise ValueError(f"total: {total} has more than {places} decimals; round it first")
    if not weights or any(weight < 0 for weight in weights) or not sum(weights):
        raise ValueError("weights: give at least one, none negative and not all zero")
    ideal = [whole * weight / Fraction(sum(weights)) for weight in weights]
    units = [part.numerator // part.denominator for part in ideal]
    left = int(whole) - sum(units)
    order = sorted(range(len(units)), key=lambda i: (units[i] - ideal[i], i))
    for i in order[:left]:
        units[i] += 1
    return [Decimal(unit).scaleb(-places, _WIDE) for unit in units]
