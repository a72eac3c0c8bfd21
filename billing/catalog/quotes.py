"""What an hour of something would cost, at the prices valid now. Answers pool.scheduling.ports.PriceQuote."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from billing import config
from billing.catalog import queries
from billing.catalog.queries import Prices
from billing.rating.amounts import round_half_up
from billing.rating.shares import Held, charged
from console.common import clock
from console.tenants.models import Tenant
from pool.scheduling.ports import Quote, QuoteItem

PLACES = 6


def quote(tenant: Tenant, items: Sequence[QuoteItem]) -> Quote:
    """Per hour, in the tenant's currency, to six decimals, half-up; one query of prices.

    An item that is not placed yet is quoted at the cheapest and at the dearest of its models that has a price.
    """
    prices, now = queries.load_currency(tenant.currency), clock.now()
    least, most, known = Fraction(0), Fraction(0), True
    missing: list[str] = []
    for item in items:
        found = {model: _price(prices, model, item.isolation, now) for model in item.models}
        missing += [f"{model} {item.isolation}" for model, price in found.items() if price is None]
        held = _share(item) * item.count
        priced = [Fraction(price) for price in found.values() if price is not None]
        if not priced:
            known = False
            continue
        least += min(priced) * held
        most += max(priced) * held
    named = tuple(dict.fromkeys(missing))
    if not known:
        return Quote(None, tenant.currency, named)
    return Quote(round_half_up(most, PLACES), tenant.currency, named, round_half_up(least, PLACES))


def _share(item: QuoteItem) -> Fraction:
    """As it will be charged, by the platform's charge basis."""
    compute = Fraction(item.compute_num, item.compute_den)
    if not item.device_memory_mib:
        return compute
    return charged(Held(compute, item.memory_mib, item.device_memory_mib), config.basis())


def _price(prices: Prices | None, model: str, isolation: str, now: datetime) -> Decimal | None:
    version = prices.of(model, isolation).at(now) if prices else None
    return version.price if version else None
