"""Cases that need a real Chromium. A package of their own: playwright's loop must end before other tests go on."""

from tests.browser.conftest import chromium, open_page, server

__all__ = ["chromium", "open_page", "server"]
