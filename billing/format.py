"""Money and amounts of work as text, by the active locale."""

from decimal import ROUND_HALF_UP, Context, Decimal

from django.utils.formats import number_format

SYMBOLS = {"CNY": "¥", "USD": "US$", "EUR": "€", "HKD": "HK$", "JPY": "JP¥", "GBP": "£", "SGD": "S$"}
_WIDE = Context(prec=60, rounding=ROUND_HALF_UP)


def figure(amount: Decimal, places: int) -> str:
    """Rounded half-up to `places`, grouped and pointed by the active locale."""
    shown = amount.quantize(Decimal(1).scaleb(-places), context=_WIDE)
    return str(number_format(shown, decimal_pos=places, use_l10n=True, force_grouping=True))


def money(amount: Decimal, currency: str, places: int = 2) -> str:
    """"¥ 48,215.60"; a currency without a common symbol keeps its ISO code."""
    sign = "−" if amount < 0 else ""
    return f"{sign}{SYMBOLS.get(currency, currency)} {figure(abs(amount), places)}"


def unit_price(amount: Decimal, currency: str) -> str:
    """As many of its decimals as it has, at least two."""
    places = max(2, -int(amount.normalize().as_tuple().exponent))
    return money(amount, currency, places)
