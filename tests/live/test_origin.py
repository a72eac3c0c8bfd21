"""Web 11: a handshake from another page, or from no page, is refused; programs have a path without cookies."""

import pytest
from django.test import override_settings

from console.common.ws import OriginGuard, allowed

HOST = "localhost:8000"
COOKIE = {"cookie": "sessionid=x"}


@pytest.mark.parametrize(
    ("origin", "good"),
    [
        ("http://localhost:8000", True),
        ("https://evil.example", False),
        ("http://localhost:9999", False),  # another port is another page
        ("https://localhost:8000", False),
        ("http://localhost", False),
        ("http://localhost:8000.evil.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_only_our_own_pages(origin: str, good: bool) -> None:
    assert allowed("/ws/heatmap/", "ws", {"host": HOST, "origin": origin, **COOKIE}) is good


def test_no_origin_at_all_is_refused() -> None:
    assert not allowed("/ws/heatmap/", "ws", {"host": HOST, **COOKIE})


def test_a_host_that_is_not_ours_is_refused_even_when_the_origin_agrees() -> None:
    assert not allowed("/ws/heatmap/", "ws", {"host": "rebound.example", "origin": "http://rebound.example"})


def test_a_program_has_a_path_of_its_own_without_cookies() -> None:
    assert allowed("/ws/token/heatmap/", "ws", {"host": HOST})
    assert not allowed("/ws/token/heatmap/", "ws", {"host": HOST, **COOKIE})


@override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"), ALLOWED_HOSTS=["weir.example"])
def test_behind_a_proxy_that_ends_tls() -> None:
    headers = {"host": "weir.example", "origin": "https://weir.example", "x-forwarded-proto": "https"}
    assert allowed("/ws/heatmap/", "ws", headers)
    assert not allowed("/ws/heatmap/", "ws", {**headers, "x-forwarded-proto": "http"})


@override_settings(CSRF_TRUSTED_ORIGINS=["https://*.weir.example", "https://one.example:8443"])
def test_trusted_origins() -> None:
    for origin in ("https://a.weir.example", "https://one.example:8443"):
        assert allowed("/ws/heatmap/", "ws", {"host": HOST, "origin": origin})
    for origin in ("https://weir.example.evil.example", "http://a.weir.example", "https://one.example"):
        assert not allowed("/ws/heatmap/", "ws", {"host": HOST, "origin": origin})


async def test_refusal_happens_before_anything_behind_it_runs() -> None:
    async def behind(*_: object) -> None:
        raise AssertionError("must not be reached")

    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/ws/heatmap/", "headers": [(b"host", HOST.encode())]}
    await OriginGuard(behind)(scope, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]
