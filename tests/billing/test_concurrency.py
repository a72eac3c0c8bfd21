"""Many writers at once, on whichever database this lane has."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from billing.catalog.models import Price
from billing.catalog.services import set_price
from billing.invoices import services as invoices
from billing.invoices.models import BilledUsage, Invoice
from billing.metering import services as metering
from billing.metering.models import Metered, UsageRecord
from console.common.actor import system
from console.common.errors import Conflict
from tests import factories
from tests.billing import build

pytestmark = pytest.mark.django_db(transaction=True)
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
AFTER = datetime(2026, 11, 30, 17, tzinfo=UTC)
HOUR = timedelta(hours=1)
FINANCE = system("finance")


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Runs each in a thread and a connection of its own, all let go together; results or exceptions."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return work()
        except Exception as error:  # the test looks at it
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def priced() -> Price:
    return set_price(
        FINANCE, model_name="H100-80GB", isolation="exclusive", per_card_hour="30", valid_from=T0 - HOUR, now=T0 - HOUR
    )


def test_four_sweeps_at_once_count_everything_once() -> None:
    priced()
    owner = build.job(factories.make_tenant())
    card = build.device()
    for i in range(40):
        build.interval(card, owner, T0 + i * HOUR, T0 + (i + 1) * HOUR)
    results = at_once(*[lambda: metering.meter_closed(AFTER, size=7)] * 4)
    assert not [result for result in results if isinstance(result, Exception)]
    assert sum(result.records for result in results) == UsageRecord.objects.count()
    assert sum(UsageRecord.objects.values_list("microseconds", flat=True)) == 40 * 3_600_000_000
    assert Metered.objects.filter(settled=True).count() == 40


def test_a_price_set_while_it_is_metered_never_splits_a_record() -> None:
    priced()
    owner = build.job(factories.make_tenant())
    card = build.device()
    for i in range(30):
        build.interval(card, owner, T0 + i * HOUR, T0 + (i + 1) * HOUR)
    change = T0 + timedelta(hours=10, minutes=30)

    def reprice() -> Any:
        return set_price(
            FINANCE, model_name="H100-80GB", isolation="exclusive", per_card_hour="60", valid_from=change, now=T0
        )

    done, *_ = at_once(reprice, *[lambda: metering.meter_closed(AFTER, size=3)] * 2)
    metering.meter_closed(AFTER)
    if isinstance(done, Conflict):  # usage after the change was rated first: the price was refused
        assert not UsageRecord.objects.exclude(price__per_card_hour=30).exists()
        return
    for row in UsageRecord.objects.select_related("price"):
        assert row.price_id == (done.pk if row.starts_at >= change else row.price_id)
        assert row.ends_at <= change or row.price_id == done.pk


def test_eight_issued_at_once_have_numbers_without_a_gap() -> None:
    priced()
    drafts = []
    for _ in range(8):
        tenant = factories.make_tenant()
        build.interval(build.device(), build.job(tenant), T0, T0 + HOUR)
        metering.meter_closed(AFTER)
        drafts.append(invoices.refresh(FINANCE, tenant, date(2026, 11, 1), AFTER))
    results = at_once(*[lambda draft=draft: invoices.issue(FINANCE, draft, AFTER) for draft in drafts])
    assert not [result for result in results if isinstance(result, Exception)]
    assert sorted(result.number for result in results) == list(range(1, 9))


def test_one_draft_issued_twice_at_once_is_issued_once() -> None:
    priced()
    tenant = factories.make_tenant()
    build.interval(build.device(), build.job(tenant), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    draft = invoices.refresh(FINANCE, tenant, date(2026, 11, 1), AFTER)
    works = [lambda: invoices.issue(FINANCE, Invoice.objects.get(pk=draft.pk), AFTER)] * 3
    results = at_once(*works, lambda: invoices.refresh(FINANCE, tenant, date(2026, 11, 1), AFTER))
    issued = [result for result in results[:3] if isinstance(result, Invoice)]
    assert [invoice.number for invoice in issued] == [1]
    assert all(isinstance(result, Conflict | Invoice) for result in results)
    assert BilledUsage.objects.count() == 1
    assert Invoice.objects.get().total == 30
