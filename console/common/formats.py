"""Numbers in words a person reads: shares of cards, memory, durations, money. All by the active locale."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

WHOLE_BP = 10_000
_SYMBOLS = {"CNY": "¥", "USD": "US$", "EUR": "€", "HKD": "HK$", "JPY": "JP¥", "GBP": "£", "SGD": "S$"}


def share(basis_points: int | None) -> str:
    """10000 -> "1 card", 1250 -> "1/8 card", 2000 -> "20 % of a card", 25000 -> "2.5 cards"."""
    if basis_points is None:
        return _("no limit")
    if basis_points == 0:
        return _("no GPU")
    if basis_points % WHOLE_BP == 0:
        return card_count(basis_points // WHOLE_BP)
    if basis_points > WHOLE_BP:
        cards_text = formats.number_format(Decimal(basis_points) / WHOLE_BP, decimal_pos=2)
        return _("%(count)s cards") % {"count": cards_text}
    fraction = Fraction(basis_points, WHOLE_BP)
    if fraction.denominator in {2, 3, 4, 8, 16}:
        return _("%(fraction)s card") % {"fraction": fraction}
    percent_text = formats.number_format((Decimal(basis_points) / 100).normalize())
    return _("%(percent)s %% of a card") % {"percent": percent_text}


def count(number: int) -> str:
    """12345 -> "12,345"."""
    return formats.number_format(number, decimal_pos=0, force_grouping=True)


def card_count(number: int) -> str:
    return ngettext("%(count)s card", "%(count)s cards", number) % {"count": count(number)}


def cards(basis_points: int) -> str:
    """Bare number of cards for a column that says so in its head: 12500 -> "1.25"."""
    value = (Decimal(basis_points) / WHOLE_BP).quantize(Decimal("0.01"))
    places = 0 if value == value.to_integral_value() else 2
    return formats.number_format(value, decimal_pos=places, force_grouping=True)


def memory(mib: int | None) -> str:
    """MiB to MiB or GiB with at most one decimal."""
    if mib is None:
        return "–"
    if mib < 1024:
        return f"{formats.number_format(mib)} MiB"
    gib = Decimal(mib) / 1024
    places = 0 if gib == gib.to_integral_value() or gib >= 100 else 1
    return f"{formats.number_format(gib, decimal_pos=places, force_grouping=True)} GiB"


def cpu(milli: int | None) -> str:
    """Thousandths of a core to cores."""
    if milli is None:
        return "–"
    cores = (Decimal(milli) / 1000).quantize(Decimal("0.01"))
    places = 0 if cores == cores.to_integral_value() else 2
    text = formats.number_format(cores, decimal_pos=places)
    return ngettext("%(count)s core", "%(count)s cores", 1 if milli == 1000 else 2) % {"count": text}


def duration(value: timedelta | float | None) -> str:
    """Two largest units: "6 h 12 min", "19 d 3 h", "42 s", "310 ms"."""
    if value is None:
        return "–"
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 0:
        seconds = 0.0
    if seconds < 1:
        return _("%(n)s ms") % {"n": round(seconds * 1000)}
    whole = int(seconds)
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, secs = divmod(rest, 60)
    parts = [
        _("%(n)s d") % {"n": formats.number_format(days, force_grouping=True)} if days else "",
        _("%(n)s h") % {"n": hours} if hours else "",
        _("%(n)s min") % {"n": minutes} if minutes else "",
        _("%(n)s s") % {"n": secs} if secs else "",
    ]
    return " ".join([part for part in parts if part][:2])


def money(amount: Decimal | None, currency: str, places: int = 2) -> str:
    """ "¥ 48,215.60"; a currency without a known symbol keeps its ISO code."""
    if amount is None:
        return "–"
    sign = "−" if amount < 0 else ""
    number = formats.number_format(abs(amount), decimal_pos=places, force_grouping=True)
    return f"{sign}{_SYMBOLS.get(currency, currency)} {number}"


def rate(amount: Decimal | None, currency: str) -> str:
    """A price keeps the decimals it has, from two to six: 12.5 -> "¥ 12.50", 0.28125 -> "¥ 0.28125"."""
    if amount is None:
        return "–"
    exponent = amount.normalize().as_tuple().exponent
    decimals = -exponent if isinstance(exponent, int) else 2
    return money(amount, currency, min(6, max(2, decimals)))


def percent(part: float, whole: float, places: int = 1) -> str:
    if not whole:
        return "–"
    return f"{formats.number_format(round(100 * part / whole, places), decimal_pos=places)} %"
