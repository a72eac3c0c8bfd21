"""Web 21: no chart offers to share itself, and no request leaves the host."""

from datetime import timedelta
from typing import Any

import pytest

from console.common import clock
from console.tenants.models import User
from pool.nodes.models import NodeRollup, PoolSample
from tests import factories
from tests.browser.conftest import Open
from tests.browser.frames import wait_until

pytestmark = pytest.mark.browser
PLOTS = "[...document.querySelectorAll('.chart-plot')]"


def _history() -> tuple[User, str]:
    """(operator, path of a device) with an hour behind them."""
    operator = factories.make_user("ops@example.test", "operator")
    node = factories.make_node(devices=1)
    now = clock.now().replace(second=0, microsecond=0)
    for minute in range(60):
        at = now - timedelta(minutes=minute)
        PoolSample.objects.create(at=at, devices=1, reporting=1, share_bp=5_000, utilisation_bp=4_000)
        row = b"".join(value.to_bytes(2, "little") for value in (8_000, 5_000, 600, 300, 12))
        NodeRollup.objects.create(node=node, period_s=60, starts_at=at, payload=row)
    return operator, f"/devices/{node.devices.get().public_id}/"


@pytest.mark.parametrize("where", ["overview", "device"])
def test_charts_stay_at_home(open_page: Open, where: str) -> None:
    operator, device = _history()
    seen = open_page("/" if where == "overview" else device, operator, height=1600)
    page = seen.page
    wait_until(page, f"{PLOTS}.length > 0 && {PLOTS}.every((plot) => plot.querySelector('.main-svg'))")
    for plot in range(page.locator(".chart-plot").count()):
        page.locator(".chart-plot").nth(plot).hover()
    titles: list[str] = page.evaluate("[...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)")
    assert titles, "the bar of buttons is there"
    assert not [
        title for title in titles if any(word in title.lower() for word in ("share", "cloud", "plotly", "edit"))
    ]
    contexts: list[dict[str, Any]] = page.evaluate(
        f"{PLOTS}.map(({{_context: c}}) => ({{cloud: c.showSendToCloud, edit: c.showEditInChartStudio,"
        " server: c.plotlyServerURL, logo: c.displaylogo}))"
    )
    assert contexts
    for context in contexts:
        assert not context["cloud"]
        assert not context["edit"]
        assert context["server"] == ""
        assert context["logo"] is False
    seen.assert_clean()
