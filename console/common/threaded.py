"""Django for an ASGI server, in a fixed pool of threads.

Django's own handler makes a thread for each request, and with it a database and a cache connection, and crosses
between the event loop and that thread several times. Every view here is synchronous, so a request needs one
crossing: the body is read on the loop (a slow sender holds no thread), a thread of the pool does all of the
rest with connections that stay open, and the loop sends the answer.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from django.core import signals
from django.core.cache import caches
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Emit = Callable[[Message], None]
Scope = MutableMapping[str, Any]


class ThreadedHandler(ASGIHandler):
    """`threads` requests run at the same time; the others wait their turn."""

    def __init__(self, threads: int) -> None:
        self.load_middleware(is_async=False)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="http", initializer=_open_cache)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is served here, not {scope['type']}")
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        loop, gone = asyncio.get_running_loop(), threading.Event()

        def emit(message: Message) -> None:
            """Waits until the server has taken it: a slow reader slows the stream instead of filling memory."""
            asyncio.run_coroutine_threadsafe(_sent(send, message), loop).result()

        watch = asyncio.create_task(_watch(receive, gone))
        try:
            for message in await loop.run_in_executor(self.pool, self._serve, scope, body, emit, gone):
                await send(message)
        finally:
            watch.cancel()

    def _serve(self, scope: Scope, body: IO[bytes], emit: Emit, gone: threading.Event) -> list[Message]:
        """In a thread: the messages that are left to send. Language and the like end with the request."""
        with body:
            return contextvars.copy_context().run(self._answer, scope, body, emit, gone)

    def _answer(self, scope: Scope, body: IO[bytes], emit: Emit, gone: threading.Event) -> list[Message]:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: Any = refusal if request is None else self.get_response(request)
        try:
            start = {"type": "http.response.start", "status": response.status_code, "headers": list(_headers(response))}
            if not response.streaming:
                return [start, {"type": "http.response.body", "body": response.content}]
            self._stream(response, start, emit, gone)
            return []
        finally:
            response.close()

    def _stream(self, response: HttpResponseBase, start: Message, emit: Emit, gone: threading.Event) -> None:
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        emit(start)
        for part in response:
            if gone.is_set():
                return
            emit({"type": "http.response.body", "body": part, "more_body": True})
        emit({"type": "http.response.body"})


def _open_cache() -> None:
    """Requests run in a copy of the thread's context; what is opened here lasts as long as the thread."""
    caches["default"]


def _headers(response: HttpResponseBase) -> Iterator[tuple[bytes, bytes]]:
    for name, value in response.items():
        yield name.encode("ascii"), value.encode("latin1") if isinstance(value, str) else value
    for cookie in response.cookies.values():
        yield b"Set-Cookie", cookie.output(header="").encode("ascii").strip()


async def _sent(send: Send, message: Message) -> None:
    await send(message)


async def _watch(receive: Receive, gone: threading.Event) -> None:
    """The reader went away: a stream need not be produced to its end."""
    while (await receive())["type"] != "http.disconnect":
        continue
    gone.set()
