"""Gives every request an id that its log lines, audit entries and answer share."""

import re
import secrets
import time
from collections.abc import Callable

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "X-Request-ID"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")
log = structlog.get_logger("weir.http")


class RequestIdMiddleware:
    """Takes the caller's `X-Request-ID` when it is harmless, else makes one; logs one line a request.

    The line names the route, not the path: a path may carry a one-time sign-in token.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.request_id = _request_id(request.headers.get(HEADER, ""))  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request.request_id)  # type: ignore[attr-defined]
        started = time.perf_counter()
        try:
            response = self.get_response(request)
            response[HEADER] = request.request_id  # type: ignore[attr-defined]
            _log(request, response, started)
            return response
        finally:
            structlog.contextvars.clear_contextvars()


def _request_id(given: str) -> str:
    # anything else could forge log lines
    return given if _ACCEPTED.fullmatch(given) else secrets.token_hex(12)


def _log(request: HttpRequest, response: HttpResponseBase, started: float) -> None:
    match = request.resolver_match
    actor = getattr(request, "actor", None)
    log.info(
        "request",
        method=request.method,
        route=match.route if match else "(none)",
        status=response.status_code,
        ms=round((time.perf_counter() - started) * 1000, 1),
        actor=actor.ident if actor else "anonymous",
    )
