"""A real Chromium on the real ASGI application, over a real socket, with a real Valkey.

The server runs in a thread of the test process and shares its database file, so a test makes rows with the
factories and looks at them in the browser. `WEIR_CHROMIUM` names the browser's file if it is not on the path.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# playwright keeps an event loop in this thread; Django's guard takes our plain calls for async ones
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

import pytest
import uvicorn
from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from console.tenants.models import User
from tests.browser.chromium import FLAGS, chromium_path
from tests.ports import free_port

WATCH_CSP = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) => {
  window.__violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`);
});
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Of this package only: other tests of the session run event loops of their own."""
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium found: apt-get install chromium, or set WEIR_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """The test runner keeps its own."""


@pytest.fixture(scope="package")
def server(django_db_setup: None) -> Iterator[str]:
    """The address of the running application."""
    from console.asgi import application

    port = free_port()
    config = uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    running = _Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 180
    while not running.started:
        assert thread.is_alive(), "the server ended at its start"
        assert time.monotonic() < deadline, "the server did not start within three minutes"
        time.sleep(0.05)
    yield f"http://localhost:{port}"
    running.should_exit = True
    thread.join(60)
    connections.close_all()


@dataclass
class Seen:
    """What a page said and asked for while it was open."""

    page: Page
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def visit(self, path: str) -> None:
        """Another page in the same tab, with what the browser has cached."""
        root = self.page.url.split("/", 3)
        response = self.page.goto("/".join(root[:3]) + path)
        assert response is not None
        assert response.status < 500, f"{path} answered {response.status}"

    def violations(self) -> list[str]:
        found: list[str] = self.page.evaluate("window.__violations || []")
        return found

    def assert_clean(self) -> None:
        assert self.errors == []
        assert self.foreign == [], "a request left the host"
        assert self.violations() == [], "the content security policy was broken"


Open = Callable[..., Seen]


@pytest.fixture
def open_page(chromium: Browser, server: str, transactional_db: None) -> Iterator[Open]:
    """`open_page("/jobs/", user, language="zh-hans", theme="dark", width=360)`; user None: not signed in."""
    contexts: list[Any] = []

    def start(
        path: str,
        user: User | None = None,
        *,
        language: str = "en",
        theme: str = "light",
        width: int = 1440,
        height: int = 900,
        scripts: bool = True,
        zone: str = "Asia/Shanghai",
        prepare: Callable[[Page], object] | None = None,
    ) -> Seen:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
            timezone_id=zone,
        )
        contexts.append(context)
        context.set_default_timeout(120_000)
        cookies = {settings.LANGUAGE_COOKIE_NAME: language}
        if user is not None:
            client = Client()
            client.force_login(user)
            cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
        context.add_cookies([{"name": name, "value": value, "url": server} for name, value in cookies.items()])
        context.add_init_script(WATCH_CSP)
        page = context.new_page()
        seen = Seen(page)
        page.on("console", lambda message: _note(seen, message))
        page.on("pageerror", lambda error: seen.errors.append(f"uncaught: {error}"))
        page.on("request", lambda request: _foreign(seen, request, server))
        if prepare is not None:
            prepare(page)
        response = page.goto(server + path)
        assert response is not None
        assert response.status < 500, f"{path} answered {response.status}"
        page.wait_for_load_state("load")
        return seen

    yield start
    for context in contexts:
        context.close()


def _note(seen: Seen, message: ConsoleMessage) -> None:
    if message.type in {"error", "warning"}:
        seen.errors.append(f"{message.type}: {message.text}")


def _foreign(seen: Seen, request: Request, server: str) -> None:
    own = (server, server.replace("http", "ws"), "data:", "blob:")
    if not request.url.startswith(own):
        seen.foreign.append(request.url)
