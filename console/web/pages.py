"""Preferences and the command palette; the routes of this room. The overview is in overview.py."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_GET, require_http_methods

from console.common.errors import FieldError, InvalidInput
from console.common.signed_in import actor_of
from console.tenants.models import User
from console.tenants.services import update_profile
from console.web import heatmap, overview, preferences, queue_trends
from console.web import palette as search

app_name = "web"


@login_not_required
@require_http_methods(["GET", "POST"])
def preferences_page(request: HttpRequest) -> HttpResponseBase:
    """GET shows them (signed in). POST takes any of language, theme, time_zone, shortcuts, then goes to `next`.

    Before sign-in POST sets the browser's cookies only.
    """
    if request.method == "POST":
        return _save(request)
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    context = {
        "chosen": preferences.read(request),
        "themes": preferences.THEME_LABELS,
        "zones": sorted(preferences.available_zones()),
        "languages": [(code, _name_of(code)) for code, _label in settings.LANGUAGES],
    }
    return render(request, "account/preferences.html", context)


def _name_of(code: str) -> str:
    """A language is offered in its own words, whatever the page speaks."""
    return {"en": "English", "zh-hans": "简体中文"}.get(code, code)


def _save(request: HttpRequest) -> HttpResponse:
    given = preferences.Change.of(request.POST)
    if not given.valid():
        raise InvalidInput([FieldError("preferences", "must be a theme, language and time zone that are offered")])
    user = request.user
    if isinstance(user, User):
        actor = actor_of(request)
        update_profile(
            actor,
            user,
            language=user.language if given.language is None else given.language,
            theme=user.theme if given.theme is None else given.theme,
            time_zone=user.time_zone if given.time_zone is None else given.time_zone,
        )
    response = HttpResponseRedirect(_next(request))
    for name, value in given.cookies().items():
        response.set_cookie(
            name, value, max_age=preferences.COOKIE_AGE_S, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
        )
    if "confirm" in request.POST:
        with override(given.language or request.LANGUAGE_CODE):
            messages.success(request, _("Preferences saved."))
    return response


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else "/"


@require_GET
def palette(request: HttpRequest) -> HttpResponse:
    """The results of the palette as a fragment; without htmx a page of its own."""
    actor = actor_of(request)
    text = request.GET.get("q", "")[: search.LONGEST]
    context = {"groups": search.search(actor, text), "text": text.strip()}
    fragment = bool(getattr(request, "htmx", False))
    return render(request, "components/palette_results.html" if fragment else "account/search.html", context)


urlpatterns: list[URLPattern] = [
    *overview.urlpatterns,
    *heatmap.urlpatterns,
    *queue_trends.urlpatterns,
    path("preferences/", preferences_page, name="preferences"),
    path("search/", palette, name="palette"),
]
