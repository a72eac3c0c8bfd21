"""Background requests that meet a newer keystroke or the next page: neither is an error in anybody's console."""

import threading
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from console.tenants.models import User
from console.web import palette as search
from tests import factories
from tests.browser.conftest import Open


@pytest.fixture
def operator(transactional_db: None) -> User:
    factories.make_job(factories.make_tenant("aurora"), name="runs-here")
    return factories.make_user("ops@example.test", "operator")


def hold(page: Page, pattern: str) -> list[Route]:
    """Requests to `pattern` wait from now on until somebody lets them go."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))
    return held


def until_held(page: Page, held: list[Route], count: int) -> None:
    for _ in range(2400):
        if len(held) >= count:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{len(held)} requests came, not {count}")


def test_a_newer_keystroke_waits_for_the_answer_to_the_older(open_page: Open, operator: User) -> None:
    """One question at a time, the last one wins; those between are never asked."""
    seen = open_page("/queues/", operator)
    page = seen.page
    held = hold(page, "**/search/**")
    page.keyboard.press("Control+k")
    until_held(page, held, 1)
    for typed in ("runs", "-he", "re"):
        page.keyboard.type(typed)
        page.wait_for_timeout(250)  # longer than the palette waits for the next key
    assert len(held) == 1, "a slow server gets no second question"
    held[0].continue_()
    until_held(page, held, 2)
    assert held[1].request.url.endswith("q=runs-here")
    held[1].continue_()
    expect(page.locator("#palette-results [role=option]").first).to_contain_text("runs-here")
    assert len(held) == 2
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
