"""Calls to addresses that people name: nothing of ours is reached, whatever the name says or becomes."""

import http.server
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from console.common import outbound


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example.com",
        "https://localhost/x",
        "https://a.localhost",
        "https://127.0.0.1",
        "https://127.1",
        "https://2130706433",
        "https://0x7f000001",
        "https://[::1]",
        "https://[::ffff:127.0.0.1]",
        "https://10.1.2.3",
        "https://192.168.0.1:8443",
        "https://172.16.0.9",
        "https://169.254.169.254/latest",
        "https://100.64.0.1",
        "https://0.0.0.0",
        "https://224.0.0.1",
        "https://[fe80::1]",
        "https://[fd00::1]",
        "https://[64:ff9b::7f00:1]",
        "https://[2002:7f00:1::]",
        "https://db.internal",
        "https://user:pass@login.example.com",
        "https://",
        "https://[::1",
        "file:///etc/passwd",
        "gopher://login.example.com",
        "javascript:alert(1)",
        "",
    ],
)
def test_what_is_refused_as_it_stands(url: str) -> None:
    assert outbound.fault_of(url)
    with pytest.raises(requests.RequestException), outbound.session() as session:
        session.get(url)


@pytest.mark.parametrize("url", ["https://login.example.com", "https://8.8.8.8/x", "https://[2606:4700::1111]:8443"])
def test_what_may_be_public(url: str) -> None:
    assert outbound.fault_of(url) == ""


class Answers(http.server.BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        size = int(self.path.removeprefix("/size/"))
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b"x" * size)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def ours() -> Iterator[int]:
    """The port of a server on loopback."""
    Answers.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """The resolver's answers, one after another; the last again and again."""
    left = list(addresses)

    def answer(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        address = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_a_name_that_means_us_is_not_called(ours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "127.0.0.1")
    with pytest.raises(requests.ConnectionError, match="private network"), outbound.session() as session:
        session.get(f"https://login.example.com:{ours}/size/1")
    assert Answers.asked == []


def test_a_name_that_changes_its_mind_gets_no_byte(ours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "8.8.8.8", "127.0.0.1")
    with pytest.raises(requests.ConnectionError, match="private network"), outbound.session() as session:
        session.get(f"https://login.example.com:{ours}/size/1")
    assert Answers.asked == []


def test_a_setting_lifts_it_and_redirects_and_sizes_have_an_end(ours: int, settings: Any) -> None:
    settings.WEIR_OUTBOUND_PRIVATE = True
    root = f"http://127.0.0.1:{ours}"
    with outbound.session() as session:
        assert session.get(f"{root}/size/3").content == b"xxx"
        assert len(session.get(f"{root}/size/{outbound.MOST_BYTES}").content) == outbound.MOST_BYTES
        with pytest.raises(outbound.Refused, match="1 MiB"):
            session.get(f"{root}/size/{outbound.MOST_BYTES + 1}")
        assert session.get(f"{root}/to//size/2").content == b"xx"
        with pytest.raises(requests.TooManyRedirects):
            session.get(f"{root}/to//to//to//to//size/2")
        with pytest.raises(requests.RequestException):
            session.get(f"{root}/to/file:///etc/passwd")


def test_no_proxy_of_the_environment_is_asked(ours: int, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEIR_OUTBOUND_PRIVATE = True
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with outbound.session() as session:
        assert session.get(f"http://127.0.0.1:{ours}/size/1").ok
