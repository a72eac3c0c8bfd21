"""Every page in both languages and themes, wide and at 360 px; palette, drawer, focus, sign-in."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.urls import reverse

from console.common import clock, lease
from console.tenants.models import User
from pool.inventory.models import Device, Node
from pool.scheduling.models import Job, Queue
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.browser.conftest import Open, Seen

PLAIN = [
    "web:overview",
    "scheduling:job_list",
    "scheduling:job_submit",
    "scheduling:queue_list",
    "inventory:node_list",
    "inventory:site_list",
    "billing:usage",
    "billing:invoice_list",
    "billing:price_list",
    "tenants:tokens",
    "audit:list",
    "web:preferences",
    "web:palette",
    "accounts:security",
    "accounts:policy",
    "accounts:locks",
    "accounts:providers",
    "mfa_list_webauthn",
    "account_change_password",
    "mfa_index",
]
DETAILS: dict[str, Callable[[], str]] = {
    "scheduling:job_detail": lambda: Job.objects.earliest("id").public_id,
    "scheduling:queue_detail": lambda: Queue.objects.earliest("id").public_id,
    "inventory:node_detail": lambda: Node.objects.earliest("id").public_id,
    "inventory:device_detail": lambda: Device.objects.earliest("id").public_id,
}


@pytest.fixture
def operator(transactional_db: None) -> User:
    """An operator, a small fleet, a job that runs and one that waits."""
    tenant = factories.make_tenant("aurora")
    factories.make_node("n-01", devices=8)
    factories.make_node("n-02", devices=2, mig=True)
    for name, share in (("runs-here", 10_000), ("also-runs", 10_000)):
        factories.make_job(tenant, name=name, total_share_bp=share)
    epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
    assert epoch is not None
    Scheduler(epoch).sweep()
    factories.make_job(tenant, name="waits-still")
    return factories.make_user("ops@example.test", "operator")


def _path(name: str) -> str:
    return reverse(name, args=[DETAILS[name]()] if name in DETAILS else [])


def _fits(seen: Seen) -> None:
    width, shown = seen.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width <= shown, f"scrolls sideways: {width} px in {shown} px"


@pytest.mark.parametrize(("language", "theme", "width"), [("en", "light", 1440), ("zh-hans", "dark", 360)])
def test_every_page_is_clean_in_both_languages_themes_and_widths(
    open_page: Open, operator: User, language: str, theme: str, width: int
) -> None:
    seen = open_page("/preferences/", operator, language=language, theme=theme, width=width)
    faults = {}
    for name in [*PLAIN, *DETAILS]:
        seen.visit(_path(name))
        try:
            assert seen.page.evaluate("document.documentElement.lang") == language
            assert seen.page.locator("h1").count() == 1
            assert seen.page.locator("main").count() == 1
            _fits(seen)
            seen.assert_clean()
        except AssertionError as fault:
            faults[name] = str(fault)
            seen.errors.clear()
    assert faults == {}


@pytest.mark.parametrize("path", ["/accounts/login/", "/no-such-page"])
def test_pages_before_sign_in_are_clean(open_page: Open, path: str) -> None:
    seen = open_page(path, width=360)
    _fits(seen)
    errors = [error for error in seen.errors if "404" not in error]
    assert errors == []
    assert seen.violations() == []


def test_signing_in_leads_to_the_page_that_was_asked_for(open_page: Open, operator: User) -> None:
    page = open_page("/queues/").page
    page.get_by_label("Email").fill("ops@example.test")
    page.get_by_label("Password").fill("a long pass phrase 1")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/queues/")
    assert page.locator("h1").inner_text() == "Queues"


def test_palette_by_keyboard(open_page: Open, operator: User) -> None:
    seen = open_page("/queues/", operator)
    page = seen.page
    page.keyboard.press("Control+k")
    page.keyboard.type("runs-here")
    page.locator("#palette-results [role=option]", has_text="runs-here").wait_for()
    page.keyboard.type("")
    assert page.locator("[role=option][aria-selected=true]").inner_text().startswith("runs-here")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/job_*/")
    assert page.locator("h1").inner_text() == "runs-here"
    seen.assert_clean()


def test_palette_closes_and_gives_the_focus_back(open_page: Open, operator: User) -> None:
    page = open_page("/queues/", operator).page
    page.locator("[data-palette-open]").focus()
    page.keyboard.press("Enter")
    assert page.locator("#palette").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#palette").is_visible()
    assert page.evaluate("document.activeElement.hasAttribute('data-palette-open')")


def test_single_keys_work_and_can_be_switched_off(open_page: Open, operator: User) -> None:
    page = open_page("/jobs/", operator).page
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("a?b/c")  # while typing they are letters
    assert page.locator("[data-list-search]").input_value() == "a?b/c"
    page.goto(page.url.split("/jobs")[0] + "/preferences/")
    page.get_by_role("radio", name="Off").check()
    page.get_by_role("button", name="Save").click()
    page.wait_for_load_state()
    page.keyboard.press("?")
    assert not page.locator("#shortcuts").is_visible()


def test_the_first_tab_stop_skips_to_the_content(open_page: Open, operator: User) -> None:
    page = open_page("/jobs/", operator).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_drawer_opens_traps_and_closes(open_page: Open, operator: User) -> None:
    page = open_page("/jobs/", operator, width=360, height=740).page
    assert not page.locator("#nav").is_visible()
    page.get_by_role("button", name="Open menu").click()
    assert page.locator("#nav").is_visible()
    assert page.evaluate("document.querySelector('.frame').inert")
    page.keyboard.press("Escape")
    page.locator("#nav").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.hasAttribute('data-nav-open')")


def test_theme_switch_goes_round_and_stays(open_page: Open, operator: User) -> None:
    page = open_page("/jobs/", operator).page

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert ground() == "rgb(246, 247, 248)"
    page.get_by_role("button", name="Theme: as the system").click()
    page.get_by_role("button", name="Theme: light").click()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert ground() == "rgb(14, 18, 21)"
    page.reload()
    assert ground() == "rgb(14, 18, 21)"


def test_targets_are_large_enough(open_page: Open, operator: User) -> None:
    page = open_page("/jobs/", operator, width=360).page
    small = page.evaluate(
        """[...document.querySelectorAll("button, summary, select, input:not([type=hidden])")]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().width)
        .filter((e) => { const b = e.getBoundingClientRect(); return b.width < 24 || b.height < 24; })
        .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert small == []


def test_focus_is_not_hidden_by_the_bar(open_page: Open, operator: User) -> None:
    tenant = Job.objects.earliest("id").tenant
    for number in range(40):
        factories.make_job(tenant, name=f"row-{number}")
    page = open_page("/jobs/?state=queued", operator, height=600).page
    page.evaluate("document.querySelector('tbody tr:last-child a').focus()")
    for _ in range(30):
        page.keyboard.press("Shift+Tab")
        top = page.evaluate("document.activeElement.getBoundingClientRect().top")
        bar = page.evaluate("document.querySelector('.topbar').getBoundingClientRect().bottom")
        if page.evaluate("document.activeElement.closest('.topbar, .nav')"):
            break
        assert top >= bar - 1
