"""The audit log: a list with filters, one entry with what changed."""

from typing import Any

import orjson
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from console.audit import queries
from console.audit.forms import FilterForm
from console.audit.models import AuditEntry
from console.common.actor import Actor
from console.common.errors import NotFound
from console.common.exports import FORMATS, Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants.models import Tenant
from console.tenants.queries import tenant_for, tenants_for

app_name = "audit"
_NONE = -1  # a tenant that is not the reader's narrows to nothing, exactly like one that does not exist

COLUMNS = [
    Column("id", "public_id"),
    Column("at (UTC)", "at", "time"),
    Column("actor", "actor_label"),
    Column("actor_kind", "actor_kind"),
    Column("via", "via"),
    Column("action", "action"),
    Column("object_type", "object_type"),
    Column("object_id", "object_id"),
    Column("result", "result"),
    Column("request_id", "request_id"),
    Column("address", "address"),
    Column("chain", "chain_id"),
    Column("seq", "seq", "number"),
    Column("text", "text"),
    Column("digest", "digest"),
]


@require_GET
def entry_list(request: HttpRequest) -> HttpResponseBase:
    actor = actor_of(request)
    form = FilterForm(request.GET)
    rows = queries.entries_for(actor, form.wanted(_tenant_id(actor, form))) if form.is_valid() else _nothing(actor)
    if request.GET.get("format") in FORMATS:
        return export_response(request.GET["format"], rows.iterator(chunk_size=500), COLUMNS, "audit")
    page = page_of(rows, request.GET)
    context = {
        "page": page,
        "tenants": _names(page.rows),
        "filters": _filters(actor, form),
        "filtered": any(request.GET.get(name) for name in form.fields),
        "errors": form.errors,
    }
    return render(request, "audit/list.html", context, status=200 if form.is_valid() else 422)


@require_GET
def entry_detail(request: HttpRequest, public_id: str) -> HttpResponseBase:
    actor = actor_of(request)
    entry = queries.entry_for(actor, public_id)
    text = orjson.loads(entry.text)
    context = {
        "entry": entry,
        "tenant": _names([entry]).get(entry.tenant_id or 0, ""),
        "changes": _changes(text["before"] or {}, text["after"] or {}),
    }
    return render(request, "audit/detail.html", context)


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, _shown(before[name]) if name in before else "", _shown(after[name]) if name in after else "")
        for name in sorted({*before, *after})
    ]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _tenant_id(actor: Actor, form: FilterForm) -> int | None:
    slug = form.cleaned_data["tenant"]
    if not slug:
        return None
    try:
        return tenant_for(actor, slug).pk
    except NotFound:
        return _NONE


def _nothing(actor: Actor) -> Any:
    return queries.entries_for(actor).none()


def _names(entries: list[AuditEntry]) -> dict[int, str]:
    """Tenant slugs of these entries, of which the actor may read each. One query."""
    wanted = {entry.tenant_id for entry in entries if entry.tenant_id is not None}
    return dict(Tenant.objects.filter(pk__in=wanted).values_list("pk", "slug"))


def _filters(actor: Actor, form: FilterForm) -> list[dict[str, Any]]:
    def one(name: str, label: str, kind: str = "text", **more: Any) -> dict[str, Any]:
        return {"name": name, "label": label, "kind": kind, "value": form.data.get(name, ""), **more}

    actions = [(action, action) for action in queries.actions_for(actor)]
    tenants = [(tenant.slug, tenant.slug) for tenant in tenants_for(actor)]
    return [
        one("actor", _("Actor")),
        one("action", _("Action"), "select", options=actions),
        one("obj", _("Object"), placeholder="job_…"),
        one("tenant", _("Tenant"), "select", options=tenants),
        one("result", _("Result"), "select", options=[("ok", _("ok")), ("refused", _("refused"))]),
        one("request_id", _("Request")),
        one("since", _("From"), "date"),
        one("until", _("To"), "date"),
    ]


urlpatterns: list[URLPattern] = [
    path("", entry_list, name="list"),
    path("<str:public_id>/", entry_detail, name="entry"),
]
