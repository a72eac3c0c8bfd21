"""Error pages. They ask for no database: what failed may be the database."""

from dataclasses import dataclass

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.common.errors import InvalidInput, WeirError


@dataclass(frozen=True, slots=True)
class Page:
    title: str | Promise
    text: str | Promise


PAGES: dict[int, Page] = {
    400: Page(_("This request could not be read"), _("Go back and try again; if a link led here, the link is wrong.")),
    403: Page(
        _("You may not do this"),
        _("Your role does not allow it. An owner of the tenant or an operator can help."),
    ),
    404: Page(_("Not found"), _("It does not exist, or it belongs to a tenant that you are not a member of.")),
    409: Page(_("Too late: it has changed meanwhile"), _("Go back, look at its present state, and try again.")),
    413: Page(_("This request is too large"), _("Nothing was stored. Shorten what you send, then try again.")),
    422: Page(_("This input cannot be accepted"), _("Nothing was stored. What to mend:")),
    429: Page(_("Too many attempts"), _("Wait a few minutes, then try again.")),
    500: Page(
        _("Something went wrong here"),
        _("It is our fault, it has been logged, and nothing was half done. Try again in a moment."),
    ),
    503: Page(
        _("Not just now"),
        _("A part of Weir does not answer; it is started again within seconds. Try again in a moment."),
    ),
}


def page(request: HttpRequest, status: int, details: list[str] | None = None) -> HttpResponse:
    """The page of `status`; `details` are shown as they are."""
    shown = PAGES[status]
    context = {
        "status": status,
        "title": shown.title,
        "text": shown.text,
        "details": details or [],
        "request_id": getattr(request, "request_id", ""),
    }
    return HttpResponse(render_to_string("error.html", context, request), status=status)


def refusal(request: HttpRequest, error: WeirError) -> HttpResponse:
    status = error.status if error.status in PAGES else 400
    if isinstance(error, InvalidInput):
        return page(request, status, [f"{e.field}: {e.message}" for e in error.errors])
    # a 404 says the same for what does not exist and for what is another tenant's
    return page(request, status, [] if status == 404 else [error.message])


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return page(request, 500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    text = _("The form was open too long, or cookies are off. Reload the page and send it again.")
    return page(request, 403, [str(text)])
