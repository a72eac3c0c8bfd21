"""Language and zone of the signed-in person, refusals as pages, and a sign-in that survives htmx."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django.utils import timezone, translation
from redis.exceptions import RedisError

from console.common.errors import WeirError
from console.web import errors, preferences

log = structlog.get_logger(__name__)
GetResponse = Callable[[HttpRequest], HttpResponseBase]


class PreferencesMiddleware:
    """The account's language wins over the browser's cookie; times are shown in the person's zone."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        language = getattr(request.user, "language", "")
        if language and language in dict(settings.LANGUAGES):
            translation.activate(language)
            request.LANGUAGE_CODE = translation.get_language()
        with timezone.override(ZoneInfo(preferences.read(request).zone)):
            return self.get_response(request)


class RefusalPagesMiddleware:
    """Turns a WeirError that a page did not answer itself into the page of its status."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        return _leave_fragment(request, response)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if request.path.startswith("/api/"):
            return None
        if isinstance(exception, WeirError):
            return errors.refusal(request, exception)
        # what counts attempts is away: nobody signs in uncounted
        if isinstance(exception, RedisError):
            log.warning("valkey_away", path=request.path, error=str(exception))
            answer = errors.page(request, 503)
            answer["Retry-After"] = "5"
            return answer
        return None


def _leave_fragment(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """A redirect to the sign-in page would be swapped into a part of the page: leave the whole page instead."""
    location = response.headers.get("Location", "")
    if not getattr(request, "htmx", False) or not location.startswith(resolve_url(settings.LOGIN_URL)):
        return response
    leave = HttpResponse(status=204)
    leave["HX-Refresh"] = "true"  # the whole page asks again, and is sent to sign in with its own address
    return leave
