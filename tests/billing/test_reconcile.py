"""I3: capacity x time = billed + running + idle, and what breaks it is named."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from django.db import connection

from billing.catalog.models import Price
from billing.metering import services
from billing.metering.models import UsageRecord
from billing.metering.queries import reconcile
from pool.inventory.models import Device
from tests import factories
from tests.billing import build

pytestmark = pytest.mark.django_db
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
H = 3_600_000_000


def test_a_slice_of_mig_is_a_seventh_of_compute_and_an_eighth_of_memory(price: Price) -> None:
    card = build.device(mig=True)
    shares = {"compute": Fraction(1, 7), "memory": Fraction(1, 8), "memory_mib": 9984}
    owner = build.job(factories.make_tenant())
    build.interval(card, owner, T0, T0 + HOUR, 1428, mig_profile="1g.10gb", mig_start=0, mig_size=1, **shares)
    services.meter_closed(T0 + HOUR)
    result = reconcile(T0, T0 + HOUR)
    group = result.groups[0]
    assert result.holds
    assert (group.compute.billed, group.compute.idle) == (Fraction(H, 7), Fraction(6 * H, 7))
    assert (group.memory.billed, group.memory.idle) == (Fraction(H, 8), Fraction(7 * H, 8))
    assert group.compute.capacity == group.compute.billed + group.compute.idle == H


def test_running_work_is_explained_and_a_window_cuts_both_sides(price: Price, card: Device) -> None:
    owner = build.job(factories.make_tenant())
    build.interval(card, owner, T0, T0 + 2 * HOUR)
    build.interval(card, owner, T0 + 3 * HOUR, None)
    services.meter_closed(T0 + 4 * HOUR)
    result = reconcile(T0 + HOUR, T0 + 4 * HOUR)
    balance = result.groups[0].compute
    assert result.holds
    assert (balance.billed, balance.running, balance.idle) == (H, H, H)


def test_what_is_closed_and_not_metered_is_unexplained_and_named(price: Price, card: Device) -> None:
    row = build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    result = reconcile(T0, T0 + HOUR)
    assert not result.holds
    assert [(m.kind, m.public_id, m.held_us, m.billed_us) for m in result.mismatches] == [
        ("interval", row.public_id, H, 0)
    ]
    assert result.groups[0].compute.unexplained == H


def test_what_closed_a_moment_ago_is_still_to_be_billed_but_never_billed_otherwise(price: Price, card: Device) -> None:
    early = build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    build.interval(card, early.job, T0 + HOUR, T0 + 2 * HOUR)
    result = reconcile(T0, T0 + 2 * HOUR, metered=T0 + 2 * HOUR)
    assert [m.public_id for m in result.mismatches] == [early.public_id]
    balance = result.groups[0].compute
    assert (balance.running, balance.unexplained) == (H, H)
    services.meter_closed(T0 + 2 * HOUR)
    assert reconcile(T0, T0 + 2 * HOUR, metered=T0 + 2 * HOUR).groups[0].compute.billed == 2 * H


def test_a_second_billed_beyond_what_was_held_is_named(price: Price, card: Device) -> None:
    row = build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    services.meter_closed(T0 + HOUR)
    record = UsageRecord.objects.get()
    record.pk, record.public_id, record.digest = None, "use_forged", ""
    record.starts_at, record.ends_at, record.microseconds = T0 + HOUR, T0 + 2 * HOUR, H
    record.save(force_insert=True)
    result = reconcile(T0 + HOUR, T0 + 2 * HOUR)
    assert [(m.public_id, m.held_us, m.billed_us) for m in result.mismatches] == [(row.public_id, 0, H)]
    assert result.groups[0].compute.unexplained == -H


def test_a_card_held_twice_is_named(price: Price, card: Device) -> None:
    owner = build.job(factories.make_tenant())
    build.interval(card, owner, T0, T0 + HOUR)
    build.interval(card, owner, T0, T0 + HOUR, share_bp=2500)
    services.meter_closed(T0 + HOUR)
    result = reconcile(T0, T0 + HOUR)
    assert [(m.kind, m.public_id) for m in result.mismatches] == [("device", card.public_id)]
    assert not result.holds


def test_corrections_net_out(price: Price, card: Device) -> None:
    row = build.interval(card, build.job(factories.make_tenant()), T0)
    services.meter_running(T0 + timedelta(days=2))
    build.close(row, T0 + HOUR)
    services.meter_closed(T0 + timedelta(days=2))
    assert reconcile(T0 - HOUR, T0 + timedelta(days=2)).holds
    assert reconcile(T0 + 20 * HOUR, T0 + 30 * HOUR).groups[0].compute.idle == 10 * H


def test_the_number_of_queries_does_not_grow(price: Price, django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    owner = build.job(factories.make_tenant())
    counts = []
    for amount in (2, 18):
        for _ in range(amount):
            build.interval(build.device(), owner, T0, T0 + HOUR)
        services.meter_closed(T0 + HOUR)
        with django_assert_max_num_queries(8) as seen:
            assert reconcile(T0, T0 + HOUR).holds
        counts.append(len(seen))
    assert counts[0] == counts[1]
    assert connection.vendor in {"sqlite", "postgresql"}
