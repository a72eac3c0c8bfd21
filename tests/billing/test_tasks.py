"""Celery tasks: run twice they do nothing the second time; out of time they go on in another message."""

from datetime import UTC, date, datetime, timedelta

import pytest

from billing.catalog.models import Price
from billing.invoices import services as invoices
from billing.invoices import tasks as invoice_tasks
from billing.invoices.models import Invoice
from billing.metering import tasks
from billing.metering.models import UsageRecord
from console.common import clock
from console.common.actor import system
from pool.inventory.models import Device
from tests import factories
from tests.billing import build

pytestmark = pytest.mark.django_db
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def test_the_hourly_sweep_finds_recent_ends_and_the_daily_one_all(price: Price, card: Device) -> None:
    owner = build.job(factories.make_tenant())
    build.interval(card, owner, T0, T0 + HOUR)
    build.interval(card, owner, NOW - 2 * HOUR, NOW - HOUR)
    tasks.wake()
    assert UsageRecord.objects.count() == 1
    tasks.sweep(full=True)
    tasks.sweep(full=True)
    assert UsageRecord.objects.count() == 2


def test_out_of_time_it_goes_on_in_another_message(price: Price, card: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(tasks, "BUDGET_S", 0)
    monkeypatch.setattr(tasks, "send", lambda task, *args, expires: sent.append((task.name, *args)))
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    tasks.sweep(full=True)
    assert sent == [("billing.metering.tasks.sweep", True)]
    assert not UsageRecord.objects.exists()


def test_last_month_is_drafted_for_every_tenant_with_usage_and_once(
    price: Price, card: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = factories.make_tenant(), factories.make_tenant()
    factories.make_tenant()
    for tenant in (a, b):
        build.interval(card, build.job(tenant), T0, T0 + HOUR)
    tasks.sweep(full=True)
    monkeypatch.setattr(invoice_tasks, "send", lambda task, *args, expires: task(*args))
    for _ in range(2):
        invoice_tasks.draft_last_month()
    assert list(Invoice.objects.order_by("pk").values_list("tenant_id", "month", "total")) == [
        (a.pk, date(2026, 11, 1), 30),
        (b.pk, date(2026, 11, 1), 30),
    ]
    invoices.issue(system("finance"), Invoice.objects.filter(tenant=a).get(), NOW)
    invoice_tasks.draft(a.pk, "2026-11-01")  # a late message leaves the issued one alone
    invoice_tasks.draft_last_month()
    assert Invoice.objects.count() == 2
