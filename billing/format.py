"""Money and amounts of work as text, by the active locale; rounded half-up before Django truncates."""

from decimal import ROUND_HALF_UP, Context, Decimal

from django.utils.formats import number_format

from billing.rating.amounts import digits
from console.common import formats

_WIDE = Context(prec=60, rounding=ROUND_HALF_UP)


def rounded(amount: Decimal, places: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-places), context=_WIDE)


def figure(amount: Decimal, places: int) -> str:
    """Grouped and pointed by the active locale."""
    return str(number_format(rounded(amount, places), decimal_pos=places, use_l10n=True, force_grouping=True))


def money(amount: Decimal, currency: str) -> str:
    """With the digits that the currency has."""
    places = digits(currency)
    return formats.money(rounded(amount, places), currency, places)


def unit_price(amount: Decimal, currency: str) -> str:
    """With as many decimals as it has, at least those of the currency."""
    places = max(digits(currency), -int(amount.normalize().as_tuple().exponent))
    return formats.money(amount, currency, places)
