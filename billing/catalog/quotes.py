"""What an hour of something would cost, at the prices valid now. Answers pool.scheduling.ports.PriceQuote."""

from collections.abc import Sequence
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

    An item that is not placed yet is quoted at the dearest model of its isolation: what it may cost at most.
    """
    prices = queries.load_currency(tenant.currency)
    total, missing = Fraction(0), []
    for item in items:
        price = _price(prices, item) if prices else None
        if price is None:
            missing.append(f"{item.model_name or '*'} {item.isolation}")
            continue
        total += Fraction(price) * _share(item) * item.count
    return Quote(round_half_up(total, PLACES), tenant.currency, tuple(dict.fromkeys(missing)))


def _share(item: QuoteItem) -> Fraction:
    """As it will be charged, by the platform's charge basis."""
    compute = Fraction(item.compute_num, item.compute_den)
    if not item.device_memory_mib:
        return compute
    return charged(Held(compute, item.memory_mib, item.device_memory_mib), config.basis())


def _price(prices: Prices, item: QuoteItem) -> Decimal | None:
    now = clock.now()
    if item.model_name is not None:
        version = prices.of(item.model_name, item.isolation).at(now)
        return version.price if version else None
    held = [timeline.at(now) for (_, isolation), timeline in prices.timelines.items() if isolation == item.isolation]
    return max((version.price for version in held if version and version.price is not None), default=None)
