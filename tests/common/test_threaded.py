"""Django behind the ASGI server: threads and connections are kept, bodies and streams flow, nothing leaks."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils import translation

from console.common.threaded import ThreadedHandler

seen: list[Any] = []
drawn = 0
released = threading.Event()


def _thread(request: HttpRequest) -> HttpResponse:
    seen.append((threading.get_ident(), id(caches["default"]), translation.get_language()))
    translation.activate("zh-hans")
    return HttpResponse(request.body)


def _stream(request: HttpRequest) -> StreamingHttpResponse:
    def rows() -> Iterator[bytes]:
        global drawn
        for number in range(100):
            drawn += 1
            yield b"%d " % number

    response = StreamingHttpResponse(rows())
    response._resource_closers.append(released.set)  # type: ignore[attr-defined]
    return response


def _broken(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


urlpatterns = [path("thread", _thread), path("stream", _stream), path("broken", _broken)]


@pytest.fixture
def handler(settings: Any) -> ThreadedHandler:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    seen.clear()
    return ThreadedHandler(1)


def ask(
    handler: ThreadedHandler, where: str, body: tuple[bytes, ...] = (b"",), leave_after: int = 1000
) -> list[dict[str, Any]]:
    """One request as the server hands it over; the caller goes away after `leave_after` messages of the answer."""
    sent: list[dict[str, Any]] = []

    async def go() -> None:
        gone = asyncio.Event()
        parts = [
            {"type": "http.request", "body": part, "more_body": number < len(body) - 1}
            for number, part in enumerate(body)
        ]

        async def receive() -> dict[str, Any]:
            if parts:
                return parts.pop(0)
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(dict(message))
            if len(sent) >= leave_after:
                gone.set()
                await asyncio.sleep(0)  # the watcher sees it before the stream goes on
                await asyncio.sleep(0)

        scope = {"type": "http", "method": "POST", "path": where, "headers": [], "query_string": b""}
        await handler(scope, receive, send)

    asyncio.run(go())
    return sent


def test_body_goes_in_and_comes_out(handler: ThreadedHandler) -> None:
    start, answer = ask(handler, "/thread", (b"one ", b"two"))
    assert (start["status"], answer["body"]) == (200, b"one two")
    assert (b"Content-Type", b"text/html; charset=utf-8") in start["headers"]


def test_requests_share_thread_and_cache_but_not_language(handler: ThreadedHandler) -> None:
    ask(handler, "/thread")
    ask(handler, "/thread")
    assert len(set(seen)) == 1
    assert seen[0][2] == "en"


def test_stream_is_sent_in_parts_and_ends(handler: ThreadedHandler) -> None:
    released.clear()
    sent = ask(handler, "/stream")
    assert len(sent) == 102
    assert b"".join(message.get("body", b"") for message in sent).split()[-1] == b"99"
    assert not sent[-1].get("more_body", False)
    assert released.is_set()


def test_stream_stops_when_its_reader_has_gone(handler: ThreadedHandler) -> None:
    global drawn
    drawn = 0
    released.clear()
    ask(handler, "/stream", leave_after=3)
    assert drawn < 100
    assert released.is_set()


def test_fault_in_a_view_is_an_answer(handler: ThreadedHandler) -> None:
    start, _ = ask(handler, "/broken")
    assert start["status"] == 500
    assert ask(handler, "/thread")[0]["status"] == 200


def test_caller_that_leaves_while_sending_gets_nothing(handler: ThreadedHandler) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/thread", "headers": [], "query_string": b""}
    asyncio.run(handler(scope, receive, send))
    assert (sent, seen) == ([], [])
