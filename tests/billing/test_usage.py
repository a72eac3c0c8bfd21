"""Usage summed for a page, and what the pool earned today."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from billing.catalog.models import Price
from billing.metering import services
from billing.metering.queries import UsageFilter, records_for, revenue, summary, total
from pool.inventory.models import Device
from tests import factories
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOVEMBER = UsageFilter(date(2026, 11, 1), date(2026, 11, 30))


def test_running_work_counts_before_and_after_it_is_metered(actors: Actors, price: Price, card: Device) -> None:
    row = build.interval(card, build.job(actors.a), T0)
    now = T0 + timedelta(hours=20)
    expected = (20 * HOUR // timedelta(microseconds=1), {"CNY": Fraction(600)})
    for meter in (lambda: None, lambda: services.meter_running(now)):
        meter()
        result = total(summary(actors.owner_a, NOVEMBER, "day", now))
        assert (result.held_us, result.amounts) == expected
    build.close(row, now)
    result = total(summary(actors.owner_a, NOVEMBER, "day", now + HOUR))
    assert (result.held_us, result.amounts) == expected


def test_days_are_those_of_the_tenant(actors: Actors, price: Price, card: Device) -> None:
    evening = datetime(2026, 11, 10, 15, tzinfo=UTC)
    build.interval(card, build.job(actors.a), evening, evening + 3 * HOUR)
    services.meter_closed(T0 + timedelta(days=1))
    rows = summary(actors.owner_a, NOVEMBER, "day", T0 + timedelta(days=1))
    assert [(row.label, row.card_hours) for row in rows] == [("2026-11-10", 1), ("2026-11-11", 2)]


def test_groups_and_filters(actors: Actors, price: Price, card: Device) -> None:
    vision = factories.make_project(actors.a, "vision")
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    build.interval(card, build.job(actors.a, vision), T0 + HOUR, T0 + 3 * HOUR)
    services.meter_closed(T0 + 3 * HOUR)
    by_project = summary(actors.owner_a, NOVEMBER, "project", T0 + 3 * HOUR)
    assert [(row.label, row.card_hours) for row in by_project] == [("default", 1), ("vision", 2)]
    only = UsageFilter(NOVEMBER.first, NOVEMBER.last, project_id=vision.pk, model_name="H100-80GB")
    assert total(summary(actors.owner_a, only, "model", T0 + 3 * HOUR)).card_hours == 2
    assert summary(actors.owner_a, UsageFilter(date(2026, 10, 1), date(2026, 10, 31)), "day", T0) == []


def test_another_tenants_usage_is_nobodys_to_see(actors: Actors, price: Price, card: Device) -> None:
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    build.interval(card, build.job(actors.a), T0 + HOUR)
    services.meter_closed(T0 + HOUR)
    now = T0 + 2 * HOUR
    for actor in (actors.owner_b, actors.member_b, actors.member_a, actors.viewer_a):
        assert summary(actor, NOVEMBER, "day", now) == []
        assert summary(actor, UsageFilter(NOVEMBER.first, NOVEMBER.last, tenant_id=actors.a.pk), "day", now) == []
        assert not records_for(actor).exists()
    for actor in (actors.owner_a, actors.billing_a, actors.finance, actors.auditor):
        assert total(summary(actor, NOVEMBER, "day", now)).card_hours == 2


def test_time_without_a_price_is_shown_as_such(actors: Actors, card: Device) -> None:
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    row = total(summary(actors.owner_a, NOVEMBER, "day", T0 + HOUR))
    assert (row.unrated_us, row.amounts) == (3_600_000_000, {})


def test_revenue_today_counts_what_runs_and_forecasts_the_day(actors: Actors, price: Price, card: Device) -> None:
    owner = build.job(actors.a)
    midnight = datetime(2026, 11, 9, 16, tzinfo=UTC)  # in Shanghai
    build.interval(card, owner, midnight - 2 * HOUR, midnight + HOUR)  # 1 h of it today
    build.interval(card, owner, midnight + 2 * HOUR, midnight + 4 * HOUR)
    services.meter_closed(midnight + 4 * HOUR)
    build.interval(card, owner, midnight + 5 * HOUR, share_bp=5000, isolation="exclusive")
    found = revenue(actors.operator, midnight, midnight + 7 * HOUR)
    assert found is not None
    assert (found.amount, found.per_hour, found.forecast) == (Decimal("120.00"), Decimal("15.00"), Decimal("375.00"))
    assert revenue(actors.member_a, midnight, midnight + 7 * HOUR) is None
    other = revenue(actors.owner_b, midnight, midnight + 7 * HOUR)
    assert other is not None
    assert other.amount == 0
