"""A person's API tokens, and the one-time sign-in link."""

from typing import Any

from allauth.account.utils import perform_login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.common import clock
from console.common.actor import Actor
from console.common.errors import InvalidInput, NotFound
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants import queries, services
from console.tenants.forms import TokenForm

app_name = "tenants"


@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The list and the form. A new secret is in the answer to its POST and nowhere else."""
    actor = actor_of(request)
    form = TokenForm(actor, request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        context = _create(actor, form)
        if "secret" in context:
            form = TokenForm(actor)
    page = page_of(queries.tokens_for(actor), request.GET)
    context |= {"form": form, "page": page, "now": clock.now()}
    return render(request, "tenants/tokens.html", context, status=422 if form.errors else 200)


@require_POST
def revoke(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    services.revoke_token(actor, queries.revocable_token(actor, public_id))
    return redirect("tenants:tokens")


@login_not_required
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


def _create(actor: Actor, form: TokenForm) -> dict[str, Any]:
    given = form.cleaned_data
    tenant = queries.tenant_for(actor, given["tenant"]) if given["tenant"] else None
    try:
        token, secret = services.create_token(
            actor, name=given["name"], scopes=given["scopes"], tenant=tenant, days=int(given["days"])
        )
    except InvalidInput as refusal:
        for error in refusal.errors:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        return {}
    return {"secret": secret, "created": token}


urlpatterns: list[URLPattern] = [
    path("tokens/", tokens, name="tokens"),
    path("tokens/<str:public_id>/revoke", revoke, name="token_revoke"),
]
