"""Billing case 31 (gpustack/gpustack#5710): an instance that runs the whole hour is billed exactly 3600 s."""

from datetime import UTC, datetime, timedelta

import pytest

from billing.metering import services
from billing.metering.models import UsageRecord
from billing.metering.queries import UsageFilter, summary, total
from console.common.actor import system
from tests import factories
from tests.billing import build

T0 = datetime(2026, 11, 10, 15, 30, tzinfo=UTC)  # half an hour before midnight in Shanghai
HOUR = timedelta(hours=1)


@pytest.mark.django_db
def test_no_gap_however_often_it_is_looked_at() -> None:
    interval = build.interval(build.device(), build.job(factories.make_tenant()), T0)
    for minutes in range(0, 120, 7):
        services.meter_running(T0 + timedelta(minutes=minutes, microseconds=minutes))
        services.meter_closed(T0 + timedelta(minutes=minutes))
    build.close(interval, T0 + HOUR)
    for _ in range(3):
        services.meter_closed(T0 + 3 * HOUR)
    assert sum(UsageRecord.objects.values_list("microseconds", flat=True)) == 3600 * 1_000_000
    days = UsageFilter((T0 - HOUR).date(), (T0 + 24 * HOUR).date())
    assert total(summary(system("test"), days, "day", T0 + 3 * HOUR)).held_us == 3600 * 1_000_000
