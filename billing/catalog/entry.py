"""The entry slice in words: no page shows its price without the unit of time that it buys."""

from fractions import Fraction

from django.utils.translation import gettext as _

from billing import config
from billing.format import money, rounded, unit_price


def sentence() -> str:
    """E.g. "Entry slice: 1/8 of a T4 card at ¥210.00 per month of 730 hours, …", in the active language."""
    entry = config.entry()
    facts = {
        "share": f"{entry.share.numerator}/{entry.share.denominator}",
        "model": entry.model,
        "price": money(entry.price, entry.currency),
        "unit": _unit(entry.unit),
        "hourly": unit_price(rounded(entry.per_card_hour, 4), entry.currency),
    }
    if entry.share == Fraction(1):
        text = _("Entry: a whole %(model)s card at %(price)s %(unit)s, which is %(hourly)s per card-hour, before tax.")
    else:
        text = _(
            "Entry slice: %(share)s of a %(model)s card at %(price)s %(unit)s, which is %(hourly)s per card-hour,"
            " before tax."
        )
    return text % facts


def _unit(unit: str) -> str:
    return {"hour": _("per hour"), "day": _("per day of 24 hours"), "month": _("per month of 730 hours")}[unit]
