"""Time to paint the heatmap in Chromium: every cell, and a fifth of them as a second's delta brings.

The real page with the real modules; the fleet is in the database, values are made in the page. Prints medians of
five rounds of 40 paints.
  python -m tests.bench.heatmap_paint [--devices 10240]
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

from tests.bench.heatmap_fanout import start_web
from tests.bench.heatmap_stack import ground, line, make_fleet

ROUNDS = 5
# each paint is followed by a frame of the browser, so that none is measured before the last is on the screen
PAINT = """async ({layer, share}) => {
  const map = document.getElementById('heatmap').heatmap;
  const devices = map.layout.devices;
  const values = layer === 'tenant' ? new Uint16Array(devices) : new Uint8Array(devices);
  map.layer = layer;
  map.tables();
  const changed = Uint16Array.from({length: Math.floor(devices * share)}, (_, i) => Math.floor(i / share));
  const times = [];
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < devices; i++) values[i] = (i * 31 + round * 17) % (layer === 'tenant' ? 30 : 256);
    const begun = performance.now();
    if (share === 1) map.painter.all(values, map.table);
    else map.painter.some(changed, values, map.table);
    times.push(performance.now() - begun);
    await new Promise(requestAnimationFrame);
  }
  times.sort((a, b) => a - b);
  return [times[20], times[38]];
}"""
MARKS = """async () => {
  const map = document.getElementById('heatmap').heatmap;
  const mark = (i) => (i % 97 ? 0 : 1) | (Math.floor(i / 8) % 40 ? 0 : 4);
  const marks = Uint8Array.from({length: map.layout.devices}, (_, i) => mark(i));
  const times = [];
  for (let round = 0; round < 20; round++) {
    map.store.values.marks = marks;
    const begun = performance.now();
    map.paintMarks();
    times.push(performance.now() - begun);
    await new Promise(requestAnimationFrame);
  }
  times.sort((a, b) => a - b);
  return times[10];
}"""


def measure(page: Any, devices: int, scale: int) -> None:
    for layer, share, what in (
        ("utilisation", 1, "every cell"),
        ("utilisation", 0.2, "a fifth of the cells"),
        ("tenant", 1, "every cell"),
    ):
        medians, high = [], []
        for _ in range(ROUNDS):
            median, p95 = page.evaluate(PAINT, {"layer": layer, "share": share})
            medians.append(median)
            high.append(p95)
        name = f"paint, {devices:,} devices at {scale}x, {layer}, {what}"
        line(name, f"{statistics.median(medians):.2f} ms", f"limit 4 ms; p95 {statistics.median(high):.2f} ms")
    line(f"outlines of marks at {scale}x, when they change", f"{page.evaluate(MARKS):.2f} ms", "not every second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_240)
    devices = parser.parse_args().devices
    with ground():
        from playwright.sync_api import sync_playwright

        from tests import factories
        from tests.browser.conftest import FLAGS, chromium_path
        from tests.live.server import session_of

        make_fleet(devices)
        cookie = session_of(factories.make_user("bench@example.test", "operator"))
        web, port = start_web()
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        address = f"http://localhost:{port}"
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
                for scale in (1, 2):
                    context = browser.new_context(viewport={"width": 1440, "height": 900}, device_scale_factor=scale)
                    context.add_cookies([{"name": "sessionid", "value": cookie, "url": address}])
                    page = context.new_page()
                    page.goto(address)
                    while not page.evaluate("Boolean(document.getElementById('heatmap')?.heatmap?.grid)"):
                        page.wait_for_timeout(50)
                    measure(page, devices, scale)
                    context.close()
                browser.close()
        finally:
            web.terminate()
            web.wait(10)


if __name__ == "__main__":
    main()
