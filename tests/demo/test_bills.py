"""The demo has a bill to look at: drafts of the running month, made by its finance officer."""

from datetime import UTC, datetime, timedelta

import pytest

from billing.invoices.models import Invoice
from billing.metering import services as metering
from console.audit.models import AuditEntry
from console.demo import services
from console.tenants.models import Tenant, User
from pool.inventory.models import Device
from tests.billing import build

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 10, 6, tzinfo=UTC)


@pytest.fixture
def held() -> Tenant:
    """A demo tenant that held a card for two hours."""
    services.seed(64)
    tenant = Tenant.objects.get(slug="dialect")
    card = Device.objects.filter(model__name="H100-80GB").earliest("pk")
    build.interval(card, build.job(tenant), NOW - timedelta(hours=3), NOW - timedelta(hours=1))
    metering.meter_closed(NOW)
    return tenant


def test_who_used_something_gets_a_draft_and_it_is_brought_up_to_date(held: Tenant) -> None:
    assert services.draft_bills(NOW) == 1
    invoice = Invoice.objects.get()
    assert (invoice.tenant, invoice.state, invoice.month.isoformat()) == (held, "draft", "2026-11-01")
    first = invoice.total
    assert first > 0
    assert AuditEntry.objects.get(action="invoice.draft").via == "demo"
    card = Device.objects.filter(model__name="H100-80GB").latest("pk")
    build.interval(card, build.job(held), NOW - timedelta(hours=2), NOW - timedelta(hours=1))
    metering.meter_closed(NOW)
    assert services.draft_bills(NOW) == 1
    assert Invoice.objects.get().total == first * 3 / 2


def test_a_large_month_is_left_to_people(held: Tenant) -> None:
    assert services.draft_bills(NOW, most=0) == 0
    assert not Invoice.objects.exists()


def test_without_the_officer_nothing_is_drafted(held: Tenant) -> None:
    User.objects.filter(platform_role="finance").update(is_active=False)
    assert services.draft_bills(NOW) == 0
    assert not Invoice.objects.exists()
