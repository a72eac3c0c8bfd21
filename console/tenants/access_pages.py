"""The access review, and its export: a line a role or token."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants import access
from console.tenants.models import User
from console.tenants.queries import people_tenants_for

COLUMNS = [
    Column(gettext_lazy("Account"), lambda line: name_of(line.account)),
    Column(gettext_lazy("Kind of account"), "account.kind"),
    Column(gettext_lazy("Enabled"), "account.is_active", "bool"),
    Column(gettext_lazy("Last sign-in (UTC)"), "account.last_login", "time"),
    Column(gettext_lazy("Second factor"), "account.second_factor", "bool"),
    Column(gettext_lazy("Role or token"), "kind"),
    Column(gettext_lazy("Which"), "what"),
    Column(gettext_lazy("Where"), "where"),
    Column(gettext_lazy("Since (UTC)"), "since", "time"),
    Column(gettext_lazy("Given by"), "granted_by"),
    Column(gettext_lazy("Allowed to"), "scopes"),
    Column(gettext_lazy("Expires (UTC)"), "expires_at", "time"),
    Column(gettext_lazy("Last used (UTC)"), "last_used_at", "time"),
]


@require_GET
def review(request: HttpRequest) -> HttpResponseBase:
    """Filters: text, tenant; `format` exports exactly what is filtered, and that is in the audit log."""
    actor = actor_of(request)
    text = request.GET.get("text", "").strip()[:200].replace("\0", "")
    tenant = request.GET.get("tenant", "")[:64].replace("\0", "")
    rows = access.accounts_for(actor, text, tenant)
    if wanted := request.GET.get("format"):
        answer = export_response(wanted, _lines(actor, rows), COLUMNS, "access-review")
        record(actor, "access.export", ("access_review", "all"), after={"text": text, "tenant": tenant})
        return answer
    page = page_of(rows, request.GET, order=("email",))
    context = {
        "page": page,
        "accounts": [(row, name_of(row), list(access.lines_of(actor, row))) for row in page.rows],
        "filters": _filters(actor, text, tenant),
        "filtered": bool(text or tenant),
        "now": clock.now(),
    }
    return render(request, "tenants/review.html", context)


def name_of(account: User) -> str:
    """An e-mail address, or the name of a service account with its id."""
    service = getattr(account, "service_account", None)
    return f"{service.name} ({service.public_id})" if service else account.email


def _lines(actor: Actor, rows: Any) -> Iterator[access.Line]:
    for row in rows.iterator(chunk_size=200):
        yield from access.lines_of(actor, row)


def _filters(actor: Actor, text: str, tenant: str) -> list[dict[str, Any]]:
    tenants = [(one.slug, one.slug) for one in people_tenants_for(actor) if actor.sees_all_work or actor.owns(one.pk)]
    return [
        {"name": "text", "label": _("Account"), "kind": "text", "value": text},
        {"name": "tenant", "label": _("Tenant"), "kind": "select", "value": tenant, "options": tenants},
    ]
