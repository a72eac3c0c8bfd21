"""The first page after a one-time link has its times in the right zone, and nothing else is seen before it."""

import pytest
from playwright.sync_api import Page

from console.audit.services import record
from console.tenants.models import User
from console.tenants.queries import actor_for_user
from console.tenants.services import create_sign_in_link
from tests import factories
from tests.browser.conftest import Open

# what each document had painted when it went; the tab keeps it
WATCH = """
addEventListener("pagehide", () => {
  const left = JSON.parse(sessionStorage.left || "[]");
  const painted = performance.getEntriesByName("first-contentful-paint").length;
  sessionStorage.left = JSON.stringify([...left, [location.pathname, painted]]);
});
"""
LEFT = "JSON.parse(sessionStorage.left || '[]')"


@pytest.fixture
def auditor(transactional_db: None) -> User:
    user = factories.make_user("audrey@example.test", "auditor")
    record(actor_for_user(user), "fleet.import", ("site", "site_1"))
    return user


def watch(page: Page) -> None:
    page.add_init_script(WATCH)


def times(page: Page) -> set[str]:
    """How far from UTC the times of a page say they are."""
    return {text.split()[-1] for text in page.locator("time").evaluate_all("all => all.map((each) => each.title)")}


@pytest.mark.parametrize(
    ("zone", "offset", "loads"),
    [("Asia/Shanghai", "UTC+8", 0), ("America/Phoenix", "UTC-7", 1), ("Asia/Kathmandu", "UTC+5:45", 1)],
)
def test_the_first_page_is_in_the_browsers_zone(
    open_page: Open, auditor: User, zone: str, offset: str, loads: int
) -> None:
    seen = open_page(create_sign_in_link(auditor) + "?next=/audit/", zone=zone, prepare=watch)
    page = seen.page
    page.wait_for_url("**/audit/")
    page.locator("time").first.wait_for()
    assert times(page) == {offset}
    assert page.evaluate(LEFT) == [["/audit/", 0]] * loads
    seen.visit("/audit/")
    assert times(page) == {offset}
    assert [path for path, _ in page.evaluate(LEFT)] == ["/audit/"] * (loads + 1)
    seen.assert_clean()


def test_a_zone_that_the_account_chose_stays(open_page: Open, auditor: User) -> None:
    User.objects.filter(pk=auditor.pk).update(time_zone="Europe/Berlin")
    seen = open_page("/audit/", auditor, zone="America/Phoenix", prepare=watch)
    assert times(seen.page) <= {"UTC+1", "UTC+2"}
    assert seen.page.evaluate(LEFT) == []


def test_a_browser_without_scripts_or_cookies_is_not_sent_in_circles(open_page: Open, auditor: User) -> None:
    def no_cookies(page: Page) -> None:
        page.add_init_script("Object.defineProperty(Document.prototype, 'cookie', { get: () => '', set: () => {} })")
        page.add_init_script(WATCH)

    seen = open_page("/audit/", auditor, zone="America/Phoenix", prepare=no_cookies)
    assert seen.page.evaluate(LEFT) == []
    plain = open_page("/audit/", auditor, zone="America/Phoenix", scripts=False)
    assert "UTC+8" in plain.page.content()
