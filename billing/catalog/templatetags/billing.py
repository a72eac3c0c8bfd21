"""`{% load billing %}`: money, card-hours and the entry price, by locale."""

from decimal import Decimal
from fractions import Fraction

from django import template

from billing import format as formats
from billing.catalog import entry
from billing.ledger import chart
from billing.ledger.models import Account
from billing.rating.amounts import US_PER_HOUR, card_hours, round_half_up

register = template.Library()


@register.simple_tag
def entry_price() -> str:
    """`{% entry_price %}`: the sentence with price, unit and share; to stand on every page that names the price."""
    return entry.sentence()


@register.simple_tag
def amount(value: Decimal, currency: str) -> str:
    """`{% amount invoice.total invoice.currency %}`, with the digits that the currency has."""
    return formats.money(value, currency)


@register.simple_tag
def unit_price(value: Decimal | None, currency: str) -> str:
    """A price of a card-hour with all its decimals; a dash where nothing is sold."""
    return "–" if value is None else formats.unit_price(value, currency)


@register.filter
def hours(microseconds: int) -> str:
    """Microseconds as hours, four decimals."""
    return formats.figure(round_half_up(Fraction(microseconds, US_PER_HOUR), 4), 4)


@register.filter
def card_time(value: Fraction | Decimal) -> str:
    """Card-hours: a Fraction of card-microseconds, or a Decimal of card-hours."""
    return formats.figure(card_hours(value, 4) if isinstance(value, Fraction) else value, 4)


@register.filter
def seconds(microseconds: int) -> str:
    """Microseconds as seconds, all six decimals."""
    return formats.figure(Decimal(microseconds).scaleb(-6), 6)


@register.simple_tag
def units(minor: int | None, currency: str) -> str:
    """`{% units entry.amount account.currency %}`: minor units as money; nothing where there are none."""
    return "" if minor is None else formats.money(chart.major(minor, currency), currency)


@register.simple_tag
def balance(account: Account) -> str:
    """What stands on an account, on the side on which it grows."""
    return formats.money(chart.major(chart.natural(account.kind, account.balance), account.currency), account.currency)
