"""kill -9 at every step of metering and of issuing: the next run finishes, nothing is lost or done twice (I7)."""

import os
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import pytest
from django.conf import settings
from django.db import connection

from billing.catalog.services import set_price
from billing.invoices import services as invoices
from billing.invoices.models import BilledUsage, Invoice
from billing.metering import services as metering
from billing.metering.models import UsageRecord
from billing.metering.queries import reconcile
from console.common.actor import system
from tests import factories
from tests.billing import build

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 17, tzinfo=UTC)
HOUR = timedelta(hours=1)
FINANCE = system("f")


@pytest.fixture(autouse=True)
def held() -> None:
    """Six hours in six intervals, at ¥30."""
    set_price(FINANCE, model_name="H100-80GB", isolation="exclusive", per_card_hour="30", valid_from=T0, now=T0)
    card, owner = build.device(), build.job(factories.make_tenant())
    for i in range(6):
        build.interval(card, owner, T0 + i * HOUR, T0 + (i + 1) * HOUR)


def kill_at(what: str, point: str, passed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.billing.killed", what, point, str(passed)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings", "DATABASE_URL": database_url()},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def database_url() -> str:
    facts = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{facts['NAME']}"
    return f"postgresql://{facts['USER']}@/{facts['NAME']}?host={facts['HOST']}"


@pytest.mark.parametrize("point", ["fence advanced", "records written", "committed"])
def test_metering_killed_at_any_step_goes_on(point: str) -> None:
    kill_at("meter", point, 1)
    assert UsageRecord.objects.count() < 6
    metering.meter_closed(NOW)
    assert sum(UsageRecord.objects.values_list("microseconds", flat=True)) == 6 * 3_600_000_000
    assert reconcile(T0, T0 + 6 * HOUR).holds


@pytest.mark.parametrize(
    ("point", "passed", "issued"),
    [
        ("records attached", 0, False),
        ("lines written", 1, False),
        ("number taken", 0, False),
        ("issued", 1, False),  # the audit entry is written, the transaction not committed
    ],
)
def test_issuing_killed_at_any_step_goes_on(point: str, passed: int, issued: bool) -> None:
    metering.meter_closed(NOW)
    kill_at("issue", point, passed)
    assert Invoice.objects.get().is_issued is issued
    draft = invoices.refresh(FINANCE, Invoice.objects.get().tenant, date(2026, 11, 1), NOW)
    invoice = invoices.issue(FINANCE, draft, NOW)
    assert (invoice.number, invoice.total, BilledUsage.objects.count()) == (1, 180, 6)
