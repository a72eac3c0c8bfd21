"""Billing case 10 (killbill/killbill#1124): 55 units x 0.067 = 3.685 is 3.69, half-up; half-even gives 3.68."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from billing.catalog.services import set_price
from billing.invoices import services
from billing.metering import services as metering
from console.common.actor import system
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 1, tzinfo=UTC)
AFTER = datetime(2026, 12, 1, tzinfo=UTC)


def test_half_a_cent_goes_up_and_the_total_is_of_rounded_amounts(actors: Actors) -> None:
    for model in ("H100-80GB", "T4"):
        set_price(system("f"), model_name=model, isolation="exclusive", per_card_hour="0.067", valid_from=T0, now=T0)
        build.interval(build.device(model), build.job(actors.a), T0, T0 + timedelta(hours=55))
    metering.meter_closed(AFTER)
    draft = services.refresh(actors.finance, actors.a, date(2026, 11, 1), AFTER)
    assert [line.exact_amount for line in draft.lines.all()] == ["3.685000000000"] * 2
    assert [line.amount for line in draft.lines.all()] == [Decimal("3.69")] * 2
    # the check that parked the account compared the total with the unrounded 7.37
    assert services.issue(actors.finance, draft, AFTER).total == Decimal("7.38")
