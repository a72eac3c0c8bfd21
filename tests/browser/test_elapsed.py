"""How long a job runs is counted on each second, by the server's clock, in its words, and without a jump."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.utils.translation import override
from playwright.sync_api import Page

from console.common import clock, formats
from console.tenants.models import User
from pool.scheduling.models import Job
from tests import factories
from tests.browser.conftest import Open
from tests.browser.frames import wait_until

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
TIMER = "#job-live [role=timer]"
COUNT = "document.querySelector('#job-live [role=timer]').textContent"
BOXES = """() => [...document.querySelectorAll('#job-live .stat')].map((each) => {
  const { x, y, width, height } = each.getBoundingClientRect();
  return [x, y, width, height];
})"""
# every text that the timer shows from now on, without asking the server
WATCH = """(selector) => {
  const element = document.querySelector(selector);
  window.texts = [element.textContent];
  new MutationObserver((all) => texts.push(...all.map((each) => each.addedNodes[0].data)))
    .observe(element, { childList: true });
}"""
WORDS = """async ([address, seconds]) => {
  const { duration } = await import(address);
  const words = JSON.parse(document.getElementById('relative-words').textContent);
  return seconds.map((each) => duration(each, words, document.documentElement.lang));
}"""


@pytest.fixture
def member(transactional_db: None) -> User:
    return factories.make_member(factories.make_tenant("aurora"), "member", "ada@aurora.test")


def running(member: User, **since: float) -> Job:
    start = clock.now() - timedelta(**since)
    return factories.make_job(member.memberships.get().tenant, state="running", queued_at=start, started_at=start)


def seconds_of(text: str) -> int:
    return next(seconds for seconds in range(1, 4_000) if formats.duration(seconds) == text)


def quiet(page: Page) -> None:
    """No refresh, and a clock that is three days wrong."""
    page.route(
        "**/jobs/job_*/", lambda route: route.abort() if "hx-request" in route.request.headers else route.continue_()
    )
    page.add_init_script("{ const now = Date.now; Date.now = () => now() - 259200000; }")


@pytest.mark.parametrize(("language", "unit"), [("en", "s"), ("zh-hans", "秒")])
def test_it_ticks_each_second_and_nothing_moves(open_page: Open, member: User, language: str, unit: str) -> None:
    """The page's time goes as the test says: what a busy machine does to real timers is not the question."""

    def hold(page: Page) -> None:
        page.clock.install(time=NOON)
        quiet(page)

    job = running(member, minutes=7)
    page = open_page(f"/jobs/{job.public_id}/", member, language=language, prepare=hold).page
    page.clock.pause_at(NOON + timedelta(minutes=2))
    before = page.evaluate(BOXES)
    page.evaluate(WATCH, TIMER)
    page.clock.run_for(66_000)
    texts = page.evaluate("texts")
    with override(language):
        seconds = [seconds_of(text) for text in texts]
    assert seconds[0] < 600 < seconds[-1], "the words have changed from minutes and seconds to longer ones"
    assert len(seconds) >= 66
    assert all(later - earlier == 1 for earlier, later in pairwise(seconds))
    assert page.evaluate(BOXES) == before
    assert unit in texts[0] + texts[-1]


def test_a_screen_reader_is_not_told_each_second(open_page: Open, member: User) -> None:
    page = open_page(f"/jobs/{running(member, seconds=5).public_id}/", member, prepare=quiet).page
    assert page.locator(TIMER).count() == 1
    assert page.locator(f"[aria-live]:has({TIMER}), [role=status]:has({TIMER}), [role=log]:has({TIMER})").count() == 0
    assert "tabular-nums" in page.locator(TIMER).evaluate("(each) => getComputedStyle(each).fontVariantNumeric")


def test_it_goes_on_after_a_refresh_and_never_back(open_page: Open, member: User) -> None:
    seen = open_page(f"/jobs/{running(member, seconds=30).public_id}/", member)
    page = seen.page
    first = seconds_of(page.evaluate(COUNT))
    with page.expect_response(lambda answer: "hx-request" in answer.request.headers):
        pass  # the page's own refresh
    wait_until(page, "!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")
    refreshed = seconds_of(page.evaluate(COUNT))
    assert refreshed >= first
    page.evaluate(WATCH, TIMER)
    wait_until(page, "texts.length > 2")
    seconds = [seconds_of(text) for text in page.evaluate("texts")]
    assert refreshed <= seconds[0] < seconds[1] < seconds[2]
    seen.assert_clean()


def test_what_has_ended_stands_still(open_page: Open, member: User) -> None:
    start = clock.now() - timedelta(minutes=3)
    tenant = member.memberships.get().tenant
    job = factories.make_job(tenant, state="succeeded", started_at=start, finished_at=start + timedelta(seconds=61))
    page = open_page(f"/jobs/{job.public_id}/", member).page
    assert page.locator(TIMER).count() == 0
    assert "1 min 1 s" in page.locator("#job-live .stats").inner_text()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_browser_writes_durations_as_the_server_does(open_page: Open, member: User, language: str) -> None:
    page = open_page(f"/jobs/{running(member, seconds=1).public_id}/", member, language=language).page
    dice = random.Random(3)
    sizes: list[Callable[[], int]] = [lambda: dice.randrange(1, 200), lambda: dice.randrange(1, 200_000_000)]
    seconds = [size() for size in sizes for _ in range(200)] + [59, 60, 3600, 3601, 86_400, 86_460, 86_400 * 1000]
    written = page.evaluate(WORDS, [staticfiles_storage.url("js/elapsed.js"), seconds])
    with override(language):
        assert written == [formats.duration(each) for each in seconds]
