"""Billing's settings, checked, with their defaults. `manage.py check` reports what is wrong with one of them."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from billing.rating.amounts import round_half_up
from billing.rating.calendar import zone_of
from billing.rating.shares import Basis

# a month of 730 h (8,760 / 12) is the convention of published cloud prices
HOURS_OF = {"hour": 1, "day": 24, "month": 730}


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry slice: `price` in `currency` for `share` of a `model` card for one `unit` of time."""

    price: Decimal
    currency: str
    unit: str
    share: Fraction
    model: str

    @property
    def hours(self) -> int:
        return HOURS_OF[self.unit]

    @property
    def per_card_hour(self) -> Decimal:
        """What a whole card costs by the hour, to ten decimals, half-up."""
        return round_half_up(Fraction(self.price) / self.hours / self.share, 10)


def entry() -> Entry:
    """Raises ImproperlyConfigured naming the setting."""
    text = str(settings.WEIR_ENTRY_PRICE)
    try:
        price = Decimal(text)
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        raise ImproperlyConfigured(f"WEIR_ENTRY_PRICE: {text!r} is not an amount; use one such as 210")
    unit = str(settings.WEIR_ENTRY_UNIT)
    if unit not in HOURS_OF:
        raise ImproperlyConfigured(f"WEIR_ENTRY_UNIT: {unit!r} is not a unit; use one of {', '.join(HOURS_OF)}")
    share_bp = int(settings.WEIR_ENTRY_SHARE_BP)
    if not 1 <= share_bp <= 10_000:
        raise ImproperlyConfigured("WEIR_ENTRY_SHARE_BP: use 1 to 10000 basis points; 1250 is 1/8 of a card")
    model = str(settings.WEIR_ENTRY_MODEL)
    return Entry(price, currency(), unit, Fraction(share_bp, 10_000), model)


def currency() -> str:
    """The platform's own currency, ISO 4217."""
    code = str(settings.WEIR_CURRENCY)
    if not (len(code) == 3 and code.isascii() and code.isalpha() and code.isupper()):
        raise ImproperlyConfigured(f"WEIR_CURRENCY: {code!r} is not an ISO 4217 code; use one such as CNY")
    return code


def basis() -> Basis:
    """Which share of a card is charged: compute, memory or larger (of both)."""
    text = str(settings.WEIR_CHARGE_BASIS)
    try:
        return Basis(text)
    except ValueError:
        allowed = ", ".join(Basis)
        raise ImproperlyConfigured(f"WEIR_CHARGE_BASIS: {text!r} is not one of {allowed}") from None


def zone() -> ZoneInfo:
    """The seller's zone: decides the year of invoice numbers and the platform's own days."""
    name = str(settings.WEIR_BILLING_ZONE)
    try:
        return zone_of(name)
    except ValueError as error:
        raise ImproperlyConfigured(f"WEIR_BILLING_ZONE: {error}") from None


def seller() -> str:
    return str(settings.WEIR_SELLER_NAME)


def settle_lag() -> timedelta:
    """How long after a day's end the running work of that day is put into records.

    Longer than it takes to learn that a node is lost, so that a correction stays the exception.
    """
    return timedelta(minutes=int(settings.WEIR_METER_LAG_MINUTES))
