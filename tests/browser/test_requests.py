"""Background requests that meet a newer keystroke or the next page: neither is an error in anybody's console."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.common.actor import Actor
from console.tenants.models import User
from console.web import palette as search
from tests import factories
from tests.browser.conftest import Open


@pytest.fixture
def operator(transactional_db: None) -> User:
    factories.make_job(factories.make_tenant("aurora"), name="runs-here")
    return factories.make_user("ops@example.test", "operator")


@dataclass
class SlowSearch:
    """A search that answers only when it is told to, each time once. `asked`: the texts, in their order."""

    asked: list[str] = field(default_factory=list)
    answer: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    real: Callable[[Actor, str], list[search.Group]] = search.search

    def __call__(self, actor: Actor, text: str) -> list[search.Group]:
        self.asked.append(text)
        self.answer.acquire(timeout=120)
        return self.real(actor, text)


def until_asked(page: Page, slow: SlowSearch, count: int) -> None:
    for _ in range(2400):
        if len(slow.asked) >= count:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{slow.asked} was asked, not {count} times")


def test_a_newer_keystroke_waits_for_the_answer_to_the_older(
    open_page: Open, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question at a time, the last one wins; those between are never asked."""
    slow = SlowSearch()
    monkeypatch.setattr(search, "search", slow)
    seen = open_page("/queues/", operator)
    page = seen.page
    page.keyboard.press("Control+k")
    until_asked(page, slow, 1)
    for typed in ("runs", "-he", "re"):
        page.keyboard.type(typed)
        page.wait_for_timeout(250)  # longer than the palette waits for the next key
    assert len(slow.asked) == 1, "a slow server gets no second question"
    slow.answer.release()
    until_asked(page, slow, 2)
    assert slow.asked[1] == "runs-here"
    slow.answer.release()
    expect(page.locator("#palette-results [role=option]").first).to_contain_text("runs-here")
    assert len(slow.asked) == 2
    seen.assert_clean()


@pytest.mark.parametrize("away", ["a link", "a reload"])
def test_the_next_page_cuts_a_slow_request_in_silence(
    open_page: Open, operator: User, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer, real = threading.Event(), threading.Event(), search.search

    def slowly(*words: Any) -> Any:
        asked.set()
        answer.wait(120)
        return real(*words)

    monkeypatch.setattr(search, "search", slowly)
    seen = open_page("/queues/", operator)
    page = seen.page
    page.keyboard.press("Control+k")
    assert asked.wait(120)
    page.keyboard.press("Escape")
    if away == "a link":
        page.locator("#nav").get_by_role("link", name="Nodes").click()
        page.wait_for_url("**/nodes/")
    else:
        page.reload()
    page.wait_for_load_state("load")
    answer.set()
    seen.assert_clean()


def test_a_request_that_really_fails_is_still_said(open_page: Open, operator: User) -> None:
    seen = open_page("/queues/", operator)
    page = seen.page
    page.route("**/search/**", lambda route: route.abort())
    page.keyboard.press("Control+k")
    expect(page.locator("body")).to_have_attribute("data-offline", "")
    assert any("htmx:sendError" in error for error in seen.errors)
