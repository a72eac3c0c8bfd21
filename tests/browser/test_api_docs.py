"""The API reference in a real browser: it draws every operation and stays within the CSP."""

import re

import pytest

from console.tenants.models import User
from tests.browser.conftest import Open
from tests.conftest import Actors


def test_the_reference_draws_itself(open_page: Open, actors: Actors) -> None:
    seen = open_page("/api/v1/docs", actors.users["member_a"])
    seen.page.wait_for_selector(".opblock")
    assert seen.page.locator(".opblock").count() >= 36
    seen.page.locator(".opblock-summary").first.click()
    seen.page.wait_for_selector(".opblock.is-open .parameters")
    seen.assert_clean()


def test_a_call_can_be_tried_out(open_page: Open, actors: Actors) -> None:
    seen = open_page("/api/v1/docs", actors.users["member_a"])
    block = seen.page.locator("#operations-me-me_retrieve")
    block.locator(".opblock-summary").click()
    block.get_by_role("button", name="Try it out").click()
    block.get_by_role("button", name="Execute").click()
    block.locator(".live-responses-table .response-col_status", has_text="200").wait_for()
    seen.assert_clean()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_dark_where_the_console_is(open_page: Open, actors: Actors, theme: str) -> None:
    user = actors.users["member_a"]
    User.objects.filter(pk=user.pk).update(theme=theme)
    seen = open_page("/api/v1/docs", user, theme="light" if theme == "dark" else "dark")  # the account wins
    seen.page.wait_for_selector(".opblock")
    shade = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", shade)[:3]) < 200) == (theme == "dark"), shade
    seen.assert_clean()


def test_every_operation_says_what_it_does(open_page: Open, actors: Actors) -> None:
    seen = open_page("/api/v1/docs", actors.users["member_a"])
    seen.page.wait_for_selector(".opblock")
    told = seen.page.locator(".opblock-summary-description").all_inner_texts()
    assert len(told) == seen.page.locator(".opblock").count()
    assert "" not in told
