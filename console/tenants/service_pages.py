"""Service accounts of a tenant and their tokens."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants import queries, services
from console.tenants.models import Tenant
from console.tenants.org_forms import ServiceAccountForm, ServiceTokenForm
from console.tenants.org_pages import answer, attempt

COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("Name"), "name"),
    Column(gettext_lazy("Project"), "project.slug"),
    Column(gettext_lazy("Since (UTC)"), "created_at", "time"),
    Column(gettext_lazy("Made by"), "created_by"),
    Column(gettext_lazy("Closed (UTC)"), "closed_at", "time"),
    Column(gettext_lazy("Tokens"), lambda row: " ".join(f"weir_{token.prefix}" for token in row.user.live_tokens)),
]


@never_cache
@require_http_methods(["GET", "POST"])
def service_accounts(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """GET: the list, `format` exports it. POST `name`, `role`, `project`: a new one."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    if not sees_services(actor, tenant):
        raise NotAllowed("service accounts are for owners of the tenant, and in a project for its admins")
    if wanted := request.GET.get("format"):
        rows = queries.service_accounts_of(actor, tenant).iterator(chunk_size=500)
        return export_response(wanted, rows, COLUMNS, f"service-accounts-{tenant.slug}")
    if request.method != "POST":
        return _page(request, tenant)
    if not manages_services(actor, tenant):
        raise NotAllowed("service accounts are for owners of the tenant, and in a project for its admins")
    form = _account_form(actor, tenant, request.POST)
    if not form.is_valid():
        return _page(request, tenant, account_form=form, status=422)
    given = form.cleaned_data
    project = queries.project_of(actor, tenant, given["project"]) if given["project"] else None
    refusal = attempt(
        lambda: services.create_service_account(actor, tenant, name=given["name"], role=given["role"], project=project)
    )
    if refusal is not None:
        return _page(request, tenant, refusal, account_form=form)
    return redirect("people:services", public_id)


@never_cache
@require_POST
def service_token(request: HttpRequest, public_id: str) -> HttpResponse:
    """The secret is in this answer and nowhere else."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    if not manages_services(actor, tenant):
        raise NotAllowed("service accounts are for owners of the tenant, and in a project for its admins")
    form = _token_form(actor, tenant, request.POST)
    if not form.is_valid():
        return _page(request, tenant, token_form=form, status=422)
    given = dict(form.cleaned_data)
    account = queries.service_account_for(actor, tenant, given.pop("account"))
    made: list[Any] = []
    refusal = attempt(lambda: made.extend(services.create_service_token(actor, account, **given)))
    if refusal is not None:
        return _page(request, tenant, refusal, token_form=form)
    return _page(request, tenant, created=made[0], secret=made[1])


@require_POST
def service_close(request: HttpRequest, public_id: str, account_id: str) -> HttpResponse:
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    if not manages_services(actor, tenant):
        raise NotAllowed("service accounts are for owners of the tenant, and in a project for its admins")
    services.close_service_account(actor, queries.service_account_for(actor, tenant, account_id))
    return redirect("people:services", public_id)


@require_POST
def service_token_revoke(request: HttpRequest, public_id: str, token_id: str) -> HttpResponse:
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    if not manages_services(actor, tenant):
        raise NotAllowed("service accounts are for owners of the tenant, and in a project for its admins")
    services.revoke_token(actor, queries.revocable_token(actor, token_id))
    return redirect("people:services", public_id)


def manages_services(actor: Actor, tenant: Tenant) -> bool:
    return actor.may_manage(tenant.pk) or bool(_projects(actor, tenant))


def sees_services(actor: Actor, tenant: Tenant) -> bool:
    return actor.sees_all_work or manages_services(actor, tenant)


def _projects(actor: Actor, tenant: Tenant) -> list[tuple[str, str]]:
    rows = tenant.projects.filter(archived_at__isnull=True).order_by("slug")
    return [(row.public_id, row.slug) for row in rows if actor.may_manage_project(tenant.pk, row.pk)]


def _account_form(actor: Actor, tenant: Tenant, data: Any = None) -> ServiceAccountForm:
    return ServiceAccountForm(_projects(actor, tenant), actor.may_manage(tenant.pk), data)


def _token_form(actor: Actor, tenant: Tenant, data: Any = None) -> ServiceTokenForm:
    rows = queries.service_accounts_of(actor, tenant).filter(closed_at__isnull=True)[:200]
    return ServiceTokenForm([(row.public_id, row.name) for row in rows], data)


def _page(
    request: HttpRequest, tenant: Tenant, refusal: InvalidInput | Conflict | None = None, **more: Any
) -> HttpResponse:
    actor = actor_of(request)
    context = {
        "page": page_of(queries.service_accounts_of(actor, tenant), request.GET),
        "account_form": _account_form(actor, tenant),
        "token_form": _token_form(actor, tenant),
        "may_services": manages_services(actor, tenant),
        "now": clock.now(),
        **more,
    }
    form = more.get("account_form") or more.get("token_form")
    return answer(request, "tenants/services.html", tenant, context, refusal, form)
