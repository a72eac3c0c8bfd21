"""Every refusal as application/problem+json (RFC 9457), with `errors` naming each field."""

from http import HTTPStatus
from typing import Any

import structlog
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from console.common.errors import FieldError, InvalidInput, WeirError

MEDIA_TYPE = "application/problem+json"
log = structlog.get_logger("weir.api")


class ProblemRenderer(JSONRenderer):
    media_type = MEDIA_TYPE
    format = "problem"


class PayloadTooLarge(WeirError):
    status = 413
    code = "body_too_large"

    def __init__(self) -> None:
        super().__init__("the body is larger than 1 MiB; send a smaller one")
        self.errors = [FieldError("body", "is larger than 1 MiB")]


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response:
    """DRF's hook: never an HTML page, never a trace of the inside."""
    request = context["request"]._request
    problem, headers = _problem(exc)
    if problem["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request failed", route=getattr(request.resolver_match, "route", ""), exc_info=exc)
    return _response(request, problem, headers)


@login_not_required
def not_found(request: HttpRequest, path: str = "") -> HttpResponse:
    """Answers any address under the API that no room has."""
    problem = _body(404, "not_found", "there is nothing at this address")
    problem["request_id"] = getattr(request, "request_id", "")
    return HttpResponse(JSONRenderer().render(problem), status=404, content_type=MEDIA_TYPE)


def _problem(exc: Exception) -> tuple[dict[str, Any], dict[str, str]]:
    if isinstance(exc, WeirError):
        headers = {"Retry-After": "1"} if exc.code == "request_in_progress" else {}
        return _body(exc.status, exc.code, exc.message, getattr(exc, "errors", None)), headers
    if isinstance(exc, RequestDataTooBig):
        return _problem(PayloadTooLarge())
    if isinstance(exc, exceptions.ValidationError):
        return _problem(InvalidInput(list(flatten(exc.detail))))
    if isinstance(exc, Http404):
        return _body(404, "not_found", "there is nothing at this address"), {}
    if isinstance(exc, PermissionDenied):
        return _body(403, "not_allowed", "you may not do this"), {}
    if isinstance(exc, exceptions.APIException):
        return _from_rest(exc)
    if isinstance(exc, (OperationalError, InterfaceError)):
        return _body(503, "database_unavailable", "the database did not answer; try again"), {"Retry-After": "2"}
    return _body(500, "internal_error", "something failed on our side; the request id finds it in the log"), {}


def _from_rest(exc: exceptions.APIException) -> tuple[dict[str, Any], dict[str, str]]:
    headers: dict[str, str] = {}
    if getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = exc.auth_header  # type: ignore[attr-defined]
    if getattr(exc, "wait", None):
        headers["Retry-After"] = str(int(exc.wait))  # type: ignore[attr-defined]
    errors = [FieldError("body", str(exc.detail))] if isinstance(exc, exceptions.ParseError) else None
    return _body(exc.status_code, str(exc.get_codes()), str(exc.detail), errors), headers


def _body(status: int, code: str, detail: str, errors: list[FieldError] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": f"urn:weir:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    if errors:
        body["errors"] = [{"field": error.field, "message": error.message} for error in errors]
    return body


def _response(request: HttpRequest, problem: dict[str, Any], headers: dict[str, str]) -> Response:
    problem["request_id"] = getattr(request, "request_id", "")
    response = Response(problem, status=problem["status"], headers=headers, content_type=MEDIA_TYPE)
    # a CSV or XLSX was asked for, yet a refusal is always JSON
    response.accepted_renderer = ProblemRenderer()
    response.accepted_media_type = MEDIA_TYPE
    response.renderer_context = {}  # type: ignore[attr-defined]
    return response


def flatten(detail: Any, path: str = "") -> list[FieldError]:
    """A serializer's nested errors as a list of (path, message)."""
    if isinstance(detail, dict):
        return [error for key, value in detail.items() for error in flatten(value, _join(path, str(key)))]
    if isinstance(detail, list) and any(isinstance(item, dict) for item in detail):
        return [error for index, item in enumerate(detail) for error in flatten(item, f"{path}[{index}]")]
    items = detail if isinstance(detail, list) else [detail]
    return [FieldError(path or "body", str(item)) for item in items]


def _join(path: str, key: str) -> str:
    if key == "non_field_errors":
        return path
    return f"{path}.{key}" if path else key
