"""Billing case 30 (gpustack/gpustack#6054): a `1g.10gb` slice is metered by the ≈ 9.5 GB that it really has."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from billing.catalog.services import set_price
from billing.metering import services
from billing.metering.models import UsageRecord
from billing.metering.queries import reconcile
from console.common.actor import system
from pool.inventory.models import Device
from pool.scheduling.shares import part_of
from tests import factories
from tests.billing import build

T0 = datetime(2026, 11, 10, tzinfo=UTC)
REAL_MIB = 9728  # 9.5 GiB
CARD_MIB = 81_920
HOUR = 3_600_000_000


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("basis", "expected"),
    [("memory", Fraction(REAL_MIB, CARD_MIB)), ("compute", Fraction(1, 7)), ("larger", Fraction(1, 7))],
)
def test_the_real_part_of_the_card_is_charged(settings, basis: str, expected: Fraction) -> None:  # type: ignore[no-untyped-def]
    settings.WEIR_CHARGE_BASIS = basis
    set_price(system("f"), model_name="A100-40GB", isolation="mig", per_card_hour="8", valid_from=T0, now=T0)
    card = build.device("A100-40GB", mig=True)
    Device.objects.update(memory_mib=CARD_MIB)
    card.refresh_from_db()
    part = part_of("A100-80GB", "1g.10gb", 1428, REAL_MIB, CARD_MIB)
    build.interval(
        card,
        build.job(factories.make_tenant()),
        T0,
        T0 + timedelta(hours=1),
        share_bp=1428,
        compute=Fraction(part.compute_num, part.compute_den),
        memory=Fraction(part.memory_num, part.memory_den),
        memory_mib=REAL_MIB,
        mig_profile="1g.10gb",
        mig_start=0,
        mig_size=1,
    )
    services.meter_closed(T0 + timedelta(hours=1))
    record = UsageRecord.objects.get()
    charged = Fraction(record.charge_num, record.charge_den)
    assert charged == expected
    assert record.microseconds == HOUR
    if basis == "memory":
        by_name = Fraction(10, 80)
        assert by_name / charged > Fraction(105, 100)  # what was reported: 5 % over
    # capacity that nobody else can use is still accounted by slots: 1/8 of the memory
    memory = reconcile(T0, T0 + timedelta(hours=1)).groups[0].memory
    assert memory.billed == Fraction(HOUR, 8)
