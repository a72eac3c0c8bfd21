"""Billing case 32 (gpustack/gpustack#6279), the rating side: a workload that vanished is billed to its last proof
of life, not to when that was noticed, and what had been metered beyond it is taken back."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from billing.catalog.services import set_price
from billing.invoices import services as invoices
from billing.metering import services
from billing.metering.queries import reconcile, revenue
from console.common.actor import system
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 10, 15, tzinfo=UTC)
PROOF = T0 + timedelta(minutes=11, seconds=24)  # 0.19 h
NOTICED = T0 + timedelta(days=2)


def test_the_clock_stops_at_the_last_proof_of_life(actors: Actors) -> None:
    set_price(system("f"), model_name="H100-80GB", isolation="exclusive", per_card_hour="100", valid_from=T0, now=T0)
    interval = build.interval(build.device(), build.job(actors.a), T0)
    services.meter_running(NOTICED)  # the server had no news and metered two days
    build.close(interval, PROOF, known_at=NOTICED)
    services.meter_closed(NOTICED)
    invoice = invoices.refresh(actors.finance, actors.a, date(2026, 11, 1), NOTICED)
    assert invoice.total == Decimal("19.00")
    assert invoice.lines.get().card_hours == Decimal("0.19")
    earned = revenue(actors.finance, T0, NOTICED)
    assert earned is not None
    assert (earned.amount, earned.per_hour) == (Decimal("19.00"), 0)
    assert reconcile(T0, NOTICED).holds
