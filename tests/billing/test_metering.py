"""Intervals become records once, whatever happens."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from billing.catalog.models import Price, PriceBook
from billing.catalog.services import set_price
from billing.metering import batch, services
from billing.metering.batch import Tally
from billing.metering.models import Metered, UsageRecord
from console.common.actor import system
from console.common.errors import Conflict
from pool.inventory.models import Device
from tests import factories
from tests.billing import build

pytestmark = pytest.mark.django_db
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_a_closed_interval_is_one_record_to_the_microsecond(price: Price, card: Device) -> None:
    tenant = factories.make_tenant()
    end = T0 + timedelta(minutes=14, seconds=3, microseconds=123457)
    build.interval(card, build.job(tenant), T0, end)
    assert services.meter_closed(NOW) == Tally(1, 1, 0)
    row = UsageRecord.objects.get()
    assert (row.microseconds, row.day, row.price_id) == (843_123_457, date(2026, 11, 10), price.pk)
    assert (row.charge_num, row.charge_den) == (1, 1)


def test_a_second_run_does_nothing(price: Price, card: Device) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    services.meter_closed(NOW)
    assert services.meter_closed(NOW) == Tally()
    assert UsageRecord.objects.count() == 1


def test_nothing_held_is_nothing_recorded_and_not_looked_at_again(price: Price, card: Device) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, T0)
    assert services.meter_closed(NOW) == Tally(1, 0, 0)
    assert services.meter_closed(NOW) == Tally()


def test_an_end_in_the_future_waits(price: Price, card: Device) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, NOW + HOUR)
    assert services.meter_closed(NOW) == Tally()


def test_running_work_is_metered_by_finished_days(price: Price, card: Device) -> None:
    row = build.interval(card, build.job(factories.make_tenant()), T0)
    day_end = datetime(2026, 11, 10, 16, tzinfo=UTC)
    assert services.meter_running(day_end + timedelta(minutes=14)) == Tally()
    assert services.meter_running(day_end + timedelta(minutes=16)) == Tally(1, 1, 0)
    assert services.meter_running(day_end + timedelta(minutes=17)) == Tally()
    build.close(row, day_end + HOUR)
    assert services.meter_closed(NOW) == Tally(1, 1, 0)
    assert sum(UsageRecord.objects.values_list("microseconds", flat=True)) == 14 * 3_600_000_000
    assert Metered.objects.get().settled


def test_an_end_that_is_learnt_late_is_corrected(price: Price, card: Device) -> None:
    """The node's last proof of life was on the first day; two more had been metered by then."""
    row = build.interval(card, build.job(factories.make_tenant()), T0)
    services.meter_running(datetime(2026, 11, 12, 17, tzinfo=UTC))
    build.close(row, T0 + HOUR, known_at=NOW)
    assert services.meter_closed(NOW) == Tally(1, 0, 3)
    assert sum(UsageRecord.objects.values_list("microseconds", flat=True)) == 3_600_000_000
    assert services.meter_closed(NOW) == Tally()


def test_an_end_exactly_where_it_was_metered_to_settles_it(price: Price, card: Device) -> None:
    row = build.interval(card, build.job(factories.make_tenant()), T0)
    services.meter_running(datetime(2026, 11, 11, 1, tzinfo=UTC))
    build.close(row, datetime(2026, 11, 10, 16, tzinfo=UTC), known_at=NOW)
    assert services.meter_closed(NOW) == Tally(1, 0, 0)
    assert Metered.objects.get().settled


def test_time_without_a_price_is_recorded_and_rated_once_there_is_one(card: Device) -> None:
    tenant = factories.make_tenant()
    build.interval(card, build.job(tenant), T0, T0 + 2 * HOUR)
    services.meter_closed(NOW)
    assert UsageRecord.objects.get().price_id is None
    assert services.rate_unrated() == Tally()
    late = set_price(
        system("finance"),
        model_name="H100-80GB",
        isolation="exclusive",
        per_card_hour="30",
        valid_from=T0 + HOUR,
        now=NOW,
    )
    services.rate_unrated()
    found = UsageRecord.objects.order_by("starts_at").values_list("starts_at", "microseconds", "price_id")
    assert list(found) == [(T0, 3_600_000_000, None), (T0 + HOUR, 3_600_000_000, late.pk)]
    assert services.rate_unrated() == Tally()


def test_a_price_change_between_plan_and_commit_makes_it_plan_again(
    price: Price, card: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    commit, seen = batch._commit, []

    def later(plan: batch.Plan) -> Tally:
        seen.append(plan.fences[price.book_id])
        if len(seen) == 1:
            PriceBook.objects.update(fence=seen[0] + 1)
        return commit(plan)

    monkeypatch.setattr(batch, "_commit", later)
    assert services.meter_closed(NOW) == Tally(1, 1, 0)
    assert seen[1] == seen[0] + 1


def test_killed_before_the_commit_leaves_nothing(price: Price, card: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Metered.objects, "bulk_create", die)
        with pytest.raises(Killed):
            services.meter_closed(NOW)
    assert not UsageRecord.objects.exists()
    assert services.meter_closed(NOW) == Tally(1, 1, 0)


def test_records_that_are_there_already_count_as_delivered(price: Price, card: Device) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    services.meter_closed(NOW)
    Metered.objects.all().delete()
    assert services.meter_closed(NOW) == Tally(1, 0, 0)
    assert Metered.objects.get().settled


def test_the_same_piece_with_other_facts_is_an_error(price: Price, card: Device) -> None:
    row = build.interval(card, build.job(factories.make_tenant()), T0)
    services.meter_running(datetime(2026, 11, 11, 1, tzinfo=UTC))
    Metered.objects.all().delete()
    build.close(row, T0 + HOUR)
    with pytest.raises(Conflict, match="recorded with other facts"):
        services.meter_closed(NOW)


def test_the_database_refuses_a_second_record_and_any_edit(price: Price, card: Device) -> None:
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    services.meter_closed(NOW)
    row = UsageRecord.objects.get()
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        UsageRecord.objects.update(microseconds=1)
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        UsageRecord.objects.all().delete()
    row.pk, row.public_id = None, "use_again"
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_every_zone_has_its_own_days(price: Price, card: Device) -> None:
    tenant = factories.make_tenant(time_zone="America/New_York")
    build.interval(card, build.job(tenant), datetime(2026, 10, 31, 4, tzinfo=UTC), datetime(2026, 11, 2, 5, tzinfo=UTC))
    services.meter_closed(NOW)
    rows = UsageRecord.objects.order_by("starts_at").values_list("day", "microseconds")
    hours = 3_600_000_000
    assert list(rows) == [(date(2026, 10, 31), 24 * hours), (date(2026, 11, 1), 25 * hours)]
