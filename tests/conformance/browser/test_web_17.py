"""Web 17: while data is on its way the page says so, and never that there is nothing; history is asked for later."""

import pytest
import redis
from django.conf import settings

from tests import factories
from tests.browser.conftest import Open
from tests.browser.frames import building, report, wait_until

pytestmark = pytest.mark.browser
MAP = "document.getElementById('heatmap').heatmap"


@pytest.fixture
def page(open_page: Open) -> Open:
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    return open_page


def test_slow_is_loading_and_not_empty(page: Open) -> None:
    """No frame builder runs: the layout is there, its values are not."""
    operator = factories.make_user("ops@example.test", "operator")
    factories.make_node(devices=8)
    seen = page("/", operator)
    wait_until(seen.page, f"{MAP}?.grid")
    assert seen.page.locator(".heat-loading").is_visible()
    assert not seen.page.locator('[data-heat="empty"]').is_visible()
    report()
    with building():
        wait_until(seen.page, f"{MAP}.store.values.utilisation")
        assert not seen.page.locator(".heat-loading").is_visible()


def test_empty_is_empty_and_not_loading(page: Open) -> None:
    seen = page("/", factories.make_user("ops@example.test", "operator"))
    seen.page.locator('[data-heat="empty"]').wait_for(state="visible")
    assert not seen.page.locator(".heat-loading").is_visible()


def test_a_slow_chart_and_a_slow_node_say_that_they_load(page: Open) -> None:
    operator = factories.make_user("ops@example.test", "operator")
    node = factories.make_node(devices=8)
    seen = page("/", operator)
    held: list[object] = []
    seen.page.route("**/heatmap/nodes/**", lambda route: held.append(route))
    seen.page.route("**/history/**", lambda route: held.append(route))
    seen.page.goto(seen.page.url + f"nodes/{node.public_id}/")
    assert seen.page.get_by_text("Loading live data…").is_visible()
    device = node.devices.first()
    assert device is not None
    seen.page.goto(seen.page.url.split("/nodes/")[0] + f"/devices/{device.public_id}/")
    seen.page.locator(".chart-wait").first.wait_for(state="visible")
    assert not seen.page.locator(".chart-none").first.is_visible()
