"""Clicks through the tour of docs/tour.md in Chromium and takes its pictures, in both languages and both themes.

  make pictures                      starts a demo of its own, lets it live for some minutes, and ends it
  make pictures LINK=http://...      of a demo that runs already: the one-time link that it printed

Writes docs/img/{step}-{en,zh}-{dark,light}.png. A page that says anything in the browser's console is an error.
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.chromium import FLAGS, chromium_path
from tests.tour.png import smaller

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("overview", "heatmap", "device", "submit", "job", "invoice")
LANGUAGES = {"en": "en", "zh": "zh-hans"}
THEMES = ("dark", "light")
ZONE, SIZE = "Asia/Shanghai", {"width": 1440, "height": 900}
LIFE_S = 200  # until metering and the demo's finance officer have been round, and the charts have some minutes
COMMAND = "sh -c 'echo slice $CUDA_VISIBLE_DEVICES; for i in $(seq 30); do echo step $i; sleep 1; done'"


class Tour:
    """One person in one language and theme. Each method is a step, and ends where its picture is taken."""

    def __init__(self, page: Page, root: str) -> None:
        self.page, self.root = page, root

    def overview(self) -> None:
        self._open("/")
        self._wait("[data-heat=count]:not(:empty)")
        self._wait(".chart[data-ready] >> nth=1")
        self._settle(4)

    def heatmap(self) -> None:
        self._open("/")
        self._wait("[data-heat=count]:not(:empty)")
        layers = self.page.locator(".heat .tabs").first
        layers.locator(":scope > *").last.click()  # who holds what
        self._settle(2)
        self.page.locator("[data-heat=view]").focus()
        for key in ["ArrowDown"] * 6 + ["ArrowRight"] * 3:
            self.page.keyboard.press(key)
        self._settle(3)

    def device(self) -> None:
        """A card in MIG mode with some of its slots held."""
        self._open("/heatmap/table/?mig=on")
        rows = self.page.locator("#devices tbody tr").all()
        held = {row.locator("td.num").nth(2).inner_text(): row for row in rows}
        part = next((row for text, row in held.items() if text not in {"0 %", "100 %"}), rows[0])
        part.locator("td.main a").click()
        self._wait(".chart[data-ready] >> nth=1")
        self._settle(2)

    def submit(self) -> None:
        self._open("/jobs/submit/")
        self.page.fill("[name=name]", "hello")
        self.page.fill("[name=command]", COMMAND)
        self.page.locator("label:has(input[value=share])").click()
        self.page.fill("[name=gpu_share]", "1/4")
        self.page.locator("label:has(input[value=L40S])").click()
        self._wait("#dry-run .price")
        self._settle(1.5)

    def job(self) -> None:
        """Of what `submit` has filled in."""
        self.page.locator("button[value=submit]").click()
        self.page.wait_for_url(re.compile("/jobs/job_"))
        self.page.locator("#log").get_by_text("step 5").wait_for()
        self.page.locator("#job-live [data-state=running]").first.wait_for()
        self._settle(1)

    def invoice(self) -> None:
        self._open("/billing/invoices/")
        self.page.locator("#invoices td.main a").first.click()
        self.page.wait_for_load_state("load")
        self._settle(1)

    def _open(self, path: str) -> None:
        self.page.goto(self.root + path)
        self.page.wait_for_load_state("load")

    def _wait(self, selector: str) -> None:
        self.page.locator(selector).first.wait_for(state="attached")

    def _settle(self, seconds: float) -> None:
        self.page.wait_for_timeout(seconds * 1000)


def take(link: str, folder: Path, steps: Sequence[str] = STEPS) -> list[str]:
    """The pictures of these steps; what the browser complained of comes back."""
    root = "/".join(link.split("/", 3)[:3])
    said: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        state = _sign_in(browser, link)
        for short, code in LANGUAGES.items():
            for theme in THEMES:
                context = _context(browser, theme, state)
                context.add_cookies([{"name": "weir_language", "value": code, "url": root}])
                _walk(Tour(context.new_page(), root), folder, f"{short}-{theme}", said, steps)
                context.close()
        browser.close()
    return said


def _sign_in(browser: Browser, link: str) -> object:
    context = _context(browser, "light")
    page = context.new_page()
    page.goto(link)
    page.locator(".nav").wait_for()
    state = context.storage_state()
    context.close()
    return state


def _context(browser: Browser, theme: str, state: object = None) -> BrowserContext:
    return browser.new_context(
        viewport=SIZE,  # type: ignore[arg-type]
        color_scheme=theme,  # type: ignore[arg-type]
        timezone_id=ZONE,
        reduced_motion="reduce",
        storage_state=state,  # type: ignore[arg-type]
    )


def _walk(tour: Tour, folder: Path, name: str, said: list[str], steps: Sequence[str]) -> None:
    page = tour.page
    page.on("console", lambda m: said.append(f"{page.url} {m.type}: {m.text}") if m.type != "log" else None)
    page.on("pageerror", lambda error: said.append(f"{page.url} uncaught: {error}"))
    for step in steps:
        getattr(tour, step)()
        page.mouse.move(0, 0)
        file = folder / f"{step}-{name}.png"
        file.write_bytes(smaller(page.screenshot()))
        print(f"{file.name}: {file.stat().st_size / 1024:.0f} KB", flush=True)


@contextmanager
def demo() -> Iterator[str]:
    """A demo in a folder of its own; gives the link that it prints."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        words = [sys.executable, "manage.py", "up", "--demo"]
        env = {**os.environ, "WEIR_HOME": home, "WEIR_PORT": str(port)}
        running = subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        try:
            assert running.stdout is not None
            link = next(found[0] for line in running.stdout if (found := re.search(r"http://\S+/signin/\S+", line)))
            print(f"the demo lives for {LIFE_S} s first", flush=True)
            time.sleep(LIFE_S)
            yield link
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("link", nargs="?", default="", help="the one-time link of a demo that runs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "img")
    parser.add_argument(
        "--steps", nargs="+", choices=STEPS, default=STEPS, help="some of them; job goes on from submit"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.link:
        said = take(options.link, options.out, options.steps)
    else:
        with demo() as link:
            said = take(link, options.out, options.steps)
    print(*said, sep="\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
