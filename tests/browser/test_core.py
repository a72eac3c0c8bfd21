"""The main job as people see it, in one browser: also run on PostgreSQL, where the other browser tests are not."""

from datetime import UTC, date, datetime, timedelta

import pytest
import redis
from django.conf import settings
from playwright.sync_api import Page, expect

from billing.catalog.services import set_price
from billing.invoices import services as invoicing
from billing.invoices.models import Invoice
from billing.metering import services as metering
from console.common import clock, lease
from console.common.actor import system
from console.tenants.models import Tenant, User
from pool.nodes.models import LogChunk
from pool.scheduling import services
from pool.scheduling.models import Job, Replica
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.billing import build
from tests.browser.conftest import Open
from tests.browser.frames import building, report, wait_until

pytestmark = pytest.mark.browser_core
PASSWORD = "a long pass phrase 1"
MAP = "document.getElementById('heatmap').heatmap"
PDF = "async (path) => new TextDecoder('latin1').decode((await (await fetch(path)).arrayBuffer()).slice(0, 8))"


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    factories.make_node("n-01", devices=8)
    return factories.make_tenant("aurora")


@pytest.fixture
def owner(tenant: Tenant) -> User:
    return factories.make_member(tenant, "owner", "ada@aurora.test")


def sign_in(page: Page, user: User) -> None:
    page.get_by_label("Email").fill(user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def place() -> None:
    epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
    assert epoch is not None
    Scheduler(epoch).sweep()


def test_sign_in_submit_and_watch_it_run_to_its_end(open_page: Open, owner: User) -> None:
    seen = open_page("/jobs/submit/")
    page = seen.page
    sign_in(page, owner)
    page.wait_for_url("**/jobs/submit/")
    page.get_by_label("Name").fill("first-run")
    page.get_by_label("Command").fill("python train.py")
    expect(page.locator("#dry-run")).to_contain_text("Would start at once", timeout=120_000)
    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url("**/jobs/job_*/")
    live = page.locator("#job-live")
    expect(live).to_contain_text("Queued")
    place()
    replica = Replica.objects.get(job=Job.objects.get(name="first-run"))
    services.replica_started(replica.public_id, received_at=clock.now())
    expect(live).to_contain_text("Running", timeout=120_000)
    LogChunk.objects.create(replica=replica, stream="stdout", offset=0, data=b"epoch 1\n", at=clock.now())
    expect(page.locator("#log")).to_contain_text("epoch 1", timeout=120_000)
    services.replica_ended(
        replica.public_id, received_at=clock.now(), age_us=0, exit_code=0, detail="", result="succeeded"
    )
    expect(live).to_contain_text("Succeeded", timeout=120_000)
    seen.assert_clean()


def test_the_heatmap_moves(open_page: Open, tenant: Tenant) -> None:
    operator = factories.make_user("ops@example.test", "operator")
    report()
    with building():
        seen = open_page("/", operator)
        wait_until(seen.page, f"{MAP}?.store.values.utilisation?.[0] === 200")
        report(util=1_000)
        wait_until(seen.page, f"{MAP}.store.values.utilisation[0] === 25")
        seen.assert_clean()


def test_the_bill_of_a_month_as_pdf(open_page: Open, tenant: Tenant, owner: User) -> None:
    card = build.device(site="cn-sz-2")
    start = datetime(2026, 3, 5, tzinfo=UTC)
    price = {"model_name": card.model.name, "isolation": "exclusive", "per_card_hour": "30"}
    set_price(system("test"), valid_from=datetime(2026, 1, 1, tzinfo=UTC), **price)
    build.interval(card, build.job(tenant), start, start + timedelta(hours=1))
    metering.meter_closed(clock.now())
    invoicing.refresh(system("test"), tenant, date(2026, 3, 1))
    invoicing.issue(system("test"), Invoice.objects.get())
    seen = open_page("/billing/invoices/", owner)
    page = seen.page
    page.locator("#main").get_by_role("link", name=Invoice.objects.get().label).first.click()
    expect(page.locator(".stats")).to_contain_text("30.00")
    link = page.get_by_role("link", name="PDF").get_attribute("href")
    assert page.evaluate(PDF, link).startswith("%PDF-1.")
    seen.assert_clean()
