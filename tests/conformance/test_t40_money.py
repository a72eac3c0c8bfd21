"""Case T40, the money side: four slices of 25 % for an hour are one card-hour, and cost what one card costs."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from billing.catalog.services import set_price
from billing.invoices import services as invoices
from billing.metering import services
from console.common.actor import system
from tests import factories
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 10, tzinfo=UTC)
AFTER = datetime(2026, 12, 1, tzinfo=UTC)


def test_four_quarters_are_one_card_hour(actors: Actors) -> None:
    set_price(system("f"), model_name="H100-80GB", isolation="vgpu", per_card_hour="31.25", valid_from=T0, now=T0)
    card, owner = build.device(), build.job(actors.a)
    for _ in range(4):
        # a quarter of 81,559 MiB is held as 20,390 (three of them) or what is left of the card (the last)
        build.interval(card, owner, T0, T0 + timedelta(hours=1), share_bp=2500, memory_mib=20_389)
    services.meter_closed(AFTER)
    invoice = invoices.refresh(actors.finance, actors.a, date(2026, 11, 1), AFTER)
    line = invoice.lines.get()
    assert (line.card_hours, line.amount) == (Decimal(1), Decimal("31.25"))
    assert line.held_microseconds == 4 * 3_600_000_000


def test_an_eighth_of_a_month_is_rounded_once(actors: Actors) -> None:
    """720 h of 1/8 card at ¥31.25: ¥2,812.50 exactly; rounded hour by hour it would be ¥2,815.20."""
    start = datetime(2026, 10, 31, 16, tzinfo=UTC)
    set_price(system("f"), model_name="H100-80GB", isolation="vgpu", per_card_hour="31.25", valid_from=start, now=start)
    project = factories.make_project(actors.a, "inference")
    build.interval(build.device(), build.job(actors.a, project), start, start + timedelta(hours=720), share_bp=1250)
    services.meter_closed(AFTER)
    assert invoices.refresh(actors.finance, actors.a, date(2026, 11, 1), AFTER).total == Decimal("2812.50")
