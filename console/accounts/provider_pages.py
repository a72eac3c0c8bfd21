"""OpenID providers: the list, one with its groups and people, and what changes them."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts import queries
from console.accounts.forms import GroupForm, ProviderForm
from console.accounts.models import OidcProvider
from console.accounts.services import providers as services
from console.common.actor import Actor, TenantRole
from console.common.errors import InvalidInput, NotAllowed
from console.common.exports import FORMATS, Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants.models import Membership, User
from console.tenants.queries import tenant_for

COLUMNS = [
    Column("id", "public_id"),
    Column("name", "name"),
    Column("tenant", "tenant.slug"),
    Column("issuer", "issuer"),
    Column("client_id", "client_id"),
    Column("domains", lambda row: " ".join(row.domains)),
    Column("enabled", "enabled"),
    Column("created_at (UTC)", "created_at", "time"),
]


def _may_change(actor: Actor, provider: OidcProvider) -> bool:
    return actor.is_operator or actor.tenants.get(provider.tenant_id or 0) is TenantRole.OWNER


@require_GET
def provider_list(request: HttpRequest) -> HttpResponseBase:
    actor = actor_of(request)
    rows = queries.providers_for(actor)
    if request.GET.get("format") in FORMATS:
        return export_response(request.GET["format"], rows.iterator(chunk_size=500), COLUMNS, "sign-in-providers")
    context = {"page": page_of(rows, request.GET), "may_add": _may_add(actor)}
    return render(request, "accounts/providers.html", context)


def _may_add(actor: Actor) -> bool:
    return actor.is_operator or bool(queries.owned_by(actor))


@require_http_methods(["GET", "POST"])
def provider_new(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    if not _may_add(actor):
        raise NotAllowed("sign-in providers are set up by operators and tenant owners")
    form = ProviderForm(actor, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        slug = form.cleaned_data["tenant"]
        tenant = tenant_for(actor, slug) if slug else None
        try:
            made = services.create_provider(actor, tenant, secret=form.cleaned_data["secret"], **form.facts())
        except InvalidInput as refusal:
            _tell(form, refusal)
        else:
            return redirect("accounts:provider", made.public_id)
    return render(request, "accounts/provider_new.html", {"form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def provider(request: HttpRequest, public_id: str) -> HttpResponse:
    """GET: what it is, its groups, its people. POST changes it."""
    actor = actor_of(request)
    found = queries.provider_for(actor, public_id)
    form = ProviderForm(actor, request.POST if request.method == "POST" else None, provider=found, initial=_now(found))
    if request.method == "POST":
        if not _may_change(actor, found):
            raise NotAllowed("this provider is changed by operators, and by owners of its tenant")
        if form.is_valid():
            try:
                services.change_provider(actor, found, secret=form.cleaned_data["secret"], **form.facts())
            except InvalidInput as refusal:
                _tell(form, refusal)
            else:
                messages.success(request, _("The provider was changed."))
                return redirect("accounts:provider", public_id)
    return _shown(request, actor, found, form, GroupForm(actor, found))


@require_POST
def provider_delete(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    services.delete_provider(actor, queries.provider_for(actor, public_id))
    messages.success(request, _("The provider is gone, and so are the roles that it gave."))
    return redirect("accounts:providers")


@require_POST
def group_map(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    found = queries.provider_for(actor, public_id)
    form = GroupForm(actor, found, request.POST)
    if not _may_change(actor, found):
        raise NotAllowed("groups are mapped by operators, and by owners of the provider's tenant")
    if not form.is_valid():
        return _shown(request, actor, found, ProviderForm(actor, provider=found, initial=_now(found)), form)
    given = form.cleaned_data
    services.map_group(actor, found, given["group"], given["role"], tenant_for(actor, given["tenant"]))
    return redirect("accounts:provider", public_id)


@require_POST
def group_unmap(request: HttpRequest, public_id: str, group_id: str) -> HttpResponse:
    actor = actor_of(request)
    services.unmap_group(actor, queries.mapping_for(actor, queries.provider_for(actor, public_id), group_id))
    return redirect("accounts:provider", public_id)


def _shown(
    request: HttpRequest, actor: Actor, found: OidcProvider, form: ProviderForm, group_form: GroupForm
) -> HttpResponse:
    context: dict[str, Any] = {
        "provider": found,
        "form": form,
        "group_form": group_form,
        "may_change": _may_change(actor, found),
        "labels": dict([*User.Role.choices, *Membership.Role.choices]),
        "mappings": found.mappings.select_related("tenant").order_by("group", "pk"),
        "page": page_of(queries.people_of(found), request.GET),
        "sign_in_url": request.build_absolute_uri(reverse("oidc_login", args=[found.public_id])),
        "callback_url": request.build_absolute_uri(reverse("oidc_callback", args=[found.public_id])),
    }
    wrong = form.errors or group_form.errors
    return render(request, "accounts/provider.html", context, status=422 if wrong else 200)


def _now(found: OidcProvider) -> dict[str, Any]:
    names = ("name", "issuer", "client_id", "scopes", "groups_claim", "brings_second_factor", "enabled")
    return {name: getattr(found, name) for name in names} | {"domains": " ".join(found.domains)}


def _tell(form: ProviderForm, refusal: InvalidInput) -> None:
    for error in refusal.errors:
        form.add_error(error.field if error.field in form.fields else None, error.message)


urlpatterns: list[URLPattern] = [
    path("providers/", provider_list, name="providers"),
    path("providers/new/", provider_new, name="provider_new"),
    path("providers/<str:public_id>/", provider, name="provider"),
    path("providers/<str:public_id>/delete", provider_delete, name="provider_delete"),
    path("providers/<str:public_id>/groups", group_map, name="group_map"),
    path("providers/<str:public_id>/groups/<str:group_id>/remove", group_unmap, name="group_unmap"),
]
