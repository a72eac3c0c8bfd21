"""A person's own settings: API tokens and profile; and the one-time sign-in link."""

from allauth.account.utils import perform_login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls.resolvers import URLPattern
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from console.common import clock
from console.common.errors import NotFound
from console.tenants import services

app_name = "tenants"


@never_cache
@require_GET
def sign_in(request: HttpRequest, token: str) -> HttpResponseBase:
    """Spends a one-time link. Runs through allauth's login, so that a second factor is asked for as well."""
    try:
        user = services.consume_sign_in_link(token, clock.now())
    except NotFound:
        return render(request, "tenants/link_spent.html", status=404)
    response: HttpResponseBase = perform_login(request, user)
    return response


urlpatterns: list[URLPattern] = []
