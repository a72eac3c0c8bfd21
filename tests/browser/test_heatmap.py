"""The heatmap in a real browser: live cells, keyboard, layers, zoom, marks, and what happens when a wire is cut."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from django.urls import reverse

from console.tenants.models import User
from pool.inventory.models import Device
from tests import factories
from tests.browser.conftest import Open, Seen
from tests.browser.frames import building, report, wait_until

MAP = "document.getElementById('heatmap').heatmap"


@pytest.fixture
def operator(transactional_db: None) -> User:
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    return factories.make_user("ops@example.test", "operator")


@pytest.fixture
def fleet(operator: User) -> None:
    """Two racks of two nodes of eight cards; the last card of all is faulty."""
    for rack in ("r01", "r02"):
        for number in (1, 2):
            factories.make_node(f"{rack}-n{number}", devices=8, rack=rack)
    Device.objects.filter(node__name="r02-n2", index=7).update(state="faulty", state_reason="XID 79")
    report()


@pytest.fixture
def frames(fleet: None) -> Iterator[None]:
    with building():
        yield


@pytest.fixture
def shown(open_page: Open, operator: User, frames: None) -> Seen:
    """The overview with its first frame painted."""
    seen = open_page("/", operator, theme="dark")
    wait_until(seen.page, f"{MAP}?.store.values.utilisation && {MAP}.store.values.marks")
    return seen


def _voice(seen: Seen) -> str:
    return str(seen.page.locator('[data-heat="voice"]').inner_text())


def _pixel(seen: Seen, device: int) -> list[int]:
    """Red, green, blue, alpha in the middle of a cell."""
    script = f"""(() => {{ const m = {MAP}; const {{grid, scale, painter}} = m;
      const x = Math.round((grid.x[{device}] + grid.cell / 2) * scale);
      const y = Math.round((grid.y[{device}] + grid.cell / 2) * scale);
      return [...painter.image.data.slice(4 * (y * painter.canvas.width + x)).slice(0, 4)]; }})()"""
    found: list[int] = seen.page.evaluate(script)
    return found


def test_cells_are_painted_in_the_colour_of_their_value_and_move(shown: Seen) -> None:
    page = shown.page
    assert page.evaluate(f"{MAP}.store.values.utilisation[0]") == 200
    before = _pixel(shown, 0)
    assert before[3] == 255
    report(util=1_000)
    wait_until(page, f"{MAP}.store.values.utilisation[0] === 25")
    after = _pixel(shown, 0)
    assert after != before
    assert sum(after) < sum(before), "on dark, a low load is a dark cell"
    assert "updated" in page.locator('[data-heat="age"]').inner_text()
    assert page.locator('[data-heat="count"]').inner_text() == "32 GPUs"
    shown.assert_clean()


def test_the_keyboard_reads_every_cell_and_opens_its_page(shown: Seen) -> None:
    page = shown.page
    page.locator('[data-heat="view"]').focus()
    assert _voice(shown).startswith("r01-n1 · GPU 0, Utilisation 80 %")
    page.keyboard.press("ArrowRight")
    assert _voice(shown).startswith("r01-n1 · GPU 1")
    page.keyboard.press("ArrowDown")
    assert _voice(shown).startswith("r01-n2 · GPU 1")
    page.keyboard.press("PageDown")
    assert _voice(shown).startswith("r02-n1 · GPU 0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert "r02-n2 · GPU 7" in _voice(shown)
    assert "fault" in _voice(shown)
    page.wait_for_selector("#device-panel >> text=XID 79")
    page.keyboard.press("Enter")
    page.wait_for_url("**/devices/dev_*/")
    page.wait_for_selector("text=XID 79")
    shown.assert_clean()


def test_layers_groups_and_zoom(shown: Seen) -> None:
    page = shown.page
    page.get_by_role("button", name="Memory").click()
    wait_until(page, f"{MAP}.store.values.memory?.[0] === 125")
    assert page.get_by_role("button", name="Memory").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Temperature").click()
    wait_until(page, f"{MAP}.store.values.temperature?.[0] === 125")
    assert "95 °C" in page.locator('[data-heat="legend"]').inner_text()
    page.get_by_role("button", name="Model").click()
    assert page.evaluate(f"{MAP}.grid.blocks.length") == 1
    page.get_by_role("button", name="Rack").click()
    assert page.evaluate(f"{MAP}.grid.blocks.length") == 2
    page.locator('[data-heat="view"]').focus()
    for shown_devices in (32, 16, 8):
        page.keyboard.press("z")
        assert page.evaluate(f"{MAP}.grid.shown") == shown_devices
    page.wait_for_selector(".node-card >> nth=7")
    page.keyboard.press("Escape")
    assert page.evaluate(f"{MAP}.grid.shown") == 16
    page.locator('[data-heat="path"] button').first.click()
    assert page.evaluate(f"{MAP}.grid.shown") == 32
    shown.assert_clean()


def test_a_pointer_gets_a_tip_with_words(shown: Seen) -> None:
    box = shown.page.locator('[data-heat="stage"]').bounding_box()
    assert box is not None
    x, y = shown.page.evaluate(f"[{MAP}.grid.x[31] + 3, {MAP}.grid.y[31] + 3]")
    shown.page.mouse.move(box["x"] + x, box["y"] + y)
    tip = shown.page.locator('[data-heat="tip"]')
    tip.wait_for(state="visible")
    text = tip.inner_text()
    assert "r02-n2 · GPU 7" in text
    assert "fault" in text
    assert "H100-80GB" in text


def test_a_gap_is_healed_by_a_full_frame(shown: Seen) -> None:
    shown.page.evaluate(
        f"(() => {{ const m = {MAP}; m.store.sequence.utilisation -= 3; m.asked = []; "
        "const ask = m.socket.askFull.bind(m.socket); "
        "m.socket.askFull = (layer) => { m.asked.push(layer); ask(layer); }; })()"
    )
    report(util=3_000, only="r01-n1")
    wait_until(shown.page, f"{MAP}.store.values.utilisation[0] === 75")
    assert "utilisation" in shown.page.evaluate(f"{MAP}.asked")


def test_a_cut_wire_comes_back_by_itself(shown: Seen) -> None:
    shown.page.evaluate(f"{MAP}.socket.socket.close()")
    wait_until(shown.page, f"{MAP}.state !== 'live'")
    report(util=2_000)
    wait_until(shown.page, f"{MAP}.state === 'live' && {MAP}.store.values.utilisation[0] === 50")


def test_the_end_of_the_session_is_said(shown: Seen) -> None:
    from django.contrib.sessions.models import Session

    Session.objects.all().delete()
    wait_until(shown.page, f"{MAP}.state === 'ended'")
    assert "Sign in again" in shown.page.locator('[data-heat="age"]').inner_text()


def test_a_new_node_appears_without_a_reload(shown: Seen) -> None:
    factories.make_node("r03-n1", devices=4, rack="r03")
    report()
    wait_until(shown.page, f"{MAP}.layout.devices === 36 && {MAP}.store.values.utilisation?.length === 36")
    assert shown.page.locator('[data-heat="count"]').inner_text() == "36 GPUs"


def test_the_theme_repaints_the_cells(shown: Seen) -> None:
    dark = _pixel(shown, 0)
    shown.page.evaluate("document.documentElement.dataset.theme = 'light'")
    wait_until(shown.page, f"{MAP}.tokens.dark === false")
    assert _pixel(shown, 0) != dark


def test_without_scripts_the_table_says_the_same(open_page: Open, operator: User, fleet: None) -> None:
    seen = open_page(reverse("web:heatmap_table") + "?rack=r02", operator, scripts=False)
    rows: Any = seen.page.locator("#devices tbody tr")
    assert rows.count() == 16
    assert "r02-n1 · GPU 0" in rows.first.inner_text()
    last = rows.last.inner_text()
    assert "r02-n2 · GPU 7" in last
    assert "80 %" in last
    assert "XID 79" in last


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_it_fits_every_screen(open_page: Open, operator: User, frames: None, language: str) -> None:
    seen = open_page("/", operator, language=language)
    for width in (360, 1440, 3840):
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.visit("/")
        wait_until(seen.page, f"{MAP}?.store.values.utilisation")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        rightmost = seen.page.evaluate(f"Math.max(...{MAP}.grid.x) + {MAP}.grid.pitch")
        assert rightmost <= seen.page.evaluate(f"{MAP}.grid.width")
        seen.assert_clean()
