"""What waits for a second person, and what became of earlier requests."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from console.approvals import queries, services
from console.approvals.actions import action_of
from console.approvals.models import Approval
from console.common.actor import Actor
from console.common.errors import NotFound
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of

app_name = "approvals"

COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("What"), "kind"),
    Column(gettext_lazy("Object"), "label"),
    Column(gettext_lazy("Reason"), "reason"),
    Column(gettext_lazy("State"), "state_now"),
    Column(gettext_lazy("Asked by"), "requested_label"),
    Column(gettext_lazy("Asked (UTC)"), "requested_at", "time"),
    Column(gettext_lazy("Expires (UTC)"), "expires_at", "time"),
    Column(gettext_lazy("Decided by"), "decided_label"),
    Column(gettext_lazy("Decided (UTC)"), "decided_at", "time"),
    Column(gettext_lazy("Outcome"), "outcome"),
]


@require_GET
def approval_list(request: HttpRequest) -> HttpResponseBase:
    """Tabs: waiting (the first), all; `format` exports."""
    actor = actor_of(request)
    rows = queries.approvals_for(actor)
    shown = "all" if request.GET.get("show") == "all" else "waiting"
    if shown == "waiting":
        rows = queries.waiting_for(rows)
    if wanted := request.GET.get("format"):
        return export_response(wanted, rows.iterator(chunk_size=500), COLUMNS, "approvals")
    page = page_of(rows, request.GET)
    named = {"waiting": _("Waiting"), "all": _("All")}
    tabs = [{"label": name, "url": f"?show={key}", "current": key == shown} for key, name in named.items()]
    context = {"page": page, "rows": [_row(actor, row) for row in page.rows], "tabs": tabs}
    return render(request, "approvals/list.html", context)


def _row(actor: Actor, row: Approval) -> dict[str, object]:
    action = action_of(row.kind)
    open_ = row.state_now == Approval.State.PENDING
    mine = actor.user_id == row.requested_by_id
    may = open_ and action.may(actor)
    return {"approval": row, "title": action.title, "may_decide": may and not mine, "may_withdraw": open_ and mine}


@require_POST
def decide(request: HttpRequest, public_id: str, verb: str) -> HttpResponse:
    """`verb`: approve, or refuse (by who asked: withdraw), with a `reason`."""
    actor = actor_of(request)
    found = queries.approval_for(actor, public_id)
    if verb == "approve":
        done = services.approve(actor, found)
        if done.state == Approval.State.FAILED:
            messages.warning(request, _("Approved, but it could not be done: %(why)s") % {"why": done.outcome})
        else:
            messages.success(request, _("Approved and done."))
    elif verb == "refuse":
        services.refuse(actor, found, request.POST.get("reason", ""))
        messages.success(request, _("The request is closed. Nothing was done."))
    else:
        raise NotFound("there is no such action")
    return redirect("approvals:list")


urlpatterns: list[URLPattern] = [
    path("", approval_list, name="list"),
    path("<str:public_id>/<str:verb>", decide, name="decide"),
]
