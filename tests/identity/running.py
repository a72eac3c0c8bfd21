"""The provider as a test sees it: its address, who is there, and a person who signs in at it."""

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests

from tests.ports import free_port

PASSWORD = "the word at the provider"
CLIENT, SECRET = "weir-client", "a secret of the client 42"


@dataclass(frozen=True)
class Identity:
    issuer: str

    def client(self, redirect: str) -> None:
        self._tell("client", {"id": CLIENT, "secret": SECRET, "redirect": redirect})

    def person(self, email: str, *groups: str, verified: bool = True) -> None:
        self._tell("person", {"email": email, "password": PASSWORD, "groups": groups, "verified": verified})

    def sign_in(self, authorize_url: str, email: str) -> str:
        """Signs a person in with the provider's own forms and consents; the address that it sends them back to."""
        browser = requests.Session()
        page = browser.get(authorize_url, timeout=60)
        page = self._post(browser, page, {"login": email, "password": PASSWORD})
        answer = self._post(browser, page, {"action": "grant", "scopes": ["openid", "profile", "email"]})
        return answer.headers["Location"]

    def _post(self, browser: requests.Session, page: requests.Response, values: dict[str, Any]) -> requests.Response:
        """Sends the first form of a page with its hidden fields; the answer, at the end of redirects within here."""
        form = re.search(r"<form[^>]*action=\"([^\"]*)\".*?</form>", page.text, re.S)
        assert form is not None, page.text
        fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[0])
        hidden = {name: html.unescape(value) for name, value in fields}
        answer = browser.post(
            urljoin(page.url, html.unescape(form[1])), {**hidden, **values}, timeout=60, allow_redirects=False
        )
        while answer.is_redirect and urljoin(answer.url, answer.headers["Location"]).startswith(self.issuer):
            answer = browser.get(urljoin(answer.url, answer.headers["Location"]), timeout=60, allow_redirects=False)
        return answer

    def _tell(self, what: str, told: dict[str, Any]) -> None:
        requests.post(f"{self.issuer}/test/{what}", json=told, timeout=60).raise_for_status()


@contextmanager
def running(home: Path) -> Iterator[Identity]:
    port = free_port()
    words = [sys.executable, "-m", "tests.identity.server", str(port)]
    env = {**os.environ, "IDENTITY_HOME": str(home)}
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready", "the provider did not start"
        yield Identity(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()
