"""What the pool earned since a moment, to the microsecond, work that still runs included."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from billing import config
from billing.catalog import queries as catalog
from billing.metering.queries.clip import sums
from billing.metering.queries.live import LivePiece, unmetered
from billing.metering.queries.scope import may_see_money, records_for, tenants_for
from billing.rating.amounts import US_PER_HOUR, money
from billing.rating.calendar import microseconds, next_day_start
from console.common.actor import Actor

# (price id, numerator, denominator of the charged share) -> microseconds
Held = dict[tuple[int, int, int], int]


@dataclass(frozen=True, slots=True)
class Revenue:
    """In the platform's currency; `others` holds the amounts of tenants that pay in another."""

    amount: Decimal
    per_hour: Decimal  # at which it grows with what runs now
    forecast: Decimal  # of the whole day, if what runs now goes on
    currency: str
    others: dict[str, Decimal]


def revenue(actor: Actor, day_start: datetime, now: datetime) -> Revenue | None:
    """Since `day_start`, for the tenants whose money the actor may read; None if there are none.

    The forecast reaches to the end of the seller's day that holds `now`. Five queries.
    """
    if not may_see_money(actor):
        return None
    columns = ("price_id", "charge_num", "charge_den")
    rated = records_for(actor).select_related(None).filter(price__isnull=False)
    held: Held = dict(sums(rated, day_start, now, columns))
    tenant_ids = None if actor.sees_all_money else list(tenants_for(actor).values_list("pk", flat=True))
    growing: Held = {}
    for row in unmetered(now, tenant_ids):
        _add_live(row, held, growing, day_start)
    prices = catalog.amounts(key[0] for key in held.keys() | growing.keys())
    earned, hourly = _by_currency(held, prices), _by_currency(growing, prices)
    own = config.currency()
    amount, per_hour = earned.pop(own, Fraction(0)), hourly.get(own, Fraction(0))
    left = Fraction(microseconds(now, next_day_start(now, config.zone())), US_PER_HOUR)
    return Revenue(
        amount=money(amount, own),
        per_hour=money(per_hour, own),
        forecast=money(amount + per_hour * left, own),
        currency=own,
        others={currency: money(value, currency) for currency, value in sorted(earned.items())},
    )


def _add_live(row: LivePiece, held: Held, growing: Held, start: datetime) -> None:
    if row.price_id is None or row.ends_at <= start:
        return
    key = (row.price_id, row.share.numerator, row.share.denominator)
    held[key] = held.get(key, 0) + microseconds(max(row.starts_at, start), row.ends_at)
    if row.runs:  # an hour more of it
        growing[key] = growing.get(key, 0) + US_PER_HOUR


def _by_currency(held: Held, prices: dict[int, tuple[Decimal, str]]) -> dict[str, Fraction]:
    amounts: dict[str, Fraction] = {}
    for (price_id, num, den), length in held.items():
        price, currency = prices[price_id]
        exact = Fraction(price) * Fraction(num, den) * Fraction(length, US_PER_HOUR)
        amounts[currency] = amounts.get(currency, Fraction(0)) + exact
    return amounts
