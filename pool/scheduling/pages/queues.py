"""Queues: limits, what is held of them, what waits."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, InvalidInput
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants import queries as tenants
from pool.scheduling import queries, services
from pool.scheduling.models import JobState, Queue
from pool.scheduling.pages import reads, shares
from pool.scheduling.pages.job_list import may_submit
from pool.scheduling.pages.queue_form import may_add
from pool.scheduling.services.queues import may_manage
from pool.scheduling.sharing import budget_queries
from pool.scheduling.sharing import queries as sharing

WAITING = 50
COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("Name"), "name"),
    Column(gettext_lazy("Tenant"), "tenant.slug"),
    Column(gettext_lazy("State"), "state"),
    Column(gettext_lazy("Cards held"), lambda queue: (queue.held_bp or 0) / 10_000, "number"),
    Column(gettext_lazy("Limit in cards"), lambda queue: _cards(queue.limit_share_bp), "number"),
    Column(gettext_lazy("Quota in cards"), lambda queue: _cards(queue.quota_share_bp), "number"),
    Column(gettext_lazy("Active jobs"), "active", "number"),
    Column(gettext_lazy("Waiting jobs"), "waiting", "number"),
]


_CHANGED: dict[str, str | Promise] = {
    Queue.State.OPEN: gettext_lazy("The queue is open: what waits in it is tried now."),
    Queue.State.HELD: gettext_lazy("The queue is held: it takes jobs and starts none. What runs goes on."),
    Queue.State.CLOSED: gettext_lazy("The queue is closed: it takes no new jobs. What waits in it still starts."),
}


def _cards(share_bp: int | None) -> float | None:
    return None if share_bp is None else share_bp / 10_000


@require_GET
def queues(request: HttpRequest) -> HttpResponse:
    """Filters: tenant, state, q."""
    actor = actor_of(request)
    page = page_of(_filtered(actor, request), request.GET)
    several = actor.sees_all_work or len(actor.tenants) > 1
    context = {
        "page": page,
        "several_tenants": several,
        "may_add": may_add(actor),
        "filters": _filters(actor, request, several),
        "filtered": any(request.GET.get(name) for name in ("tenant", "state", "q")),
    }
    return render(request, "scheduling/queue_list.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    actor = actor_of(request)
    rows = _filtered(actor, request)
    return export_response(request.GET.get("format", "csv"), rows, COLUMNS, "queues")


@require_GET
def queue(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    found = queries.queue_for(actor, public_id)
    jobs = queries.jobs_for(actor).filter(queue=found)
    waiting = list(jobs.filter(state=JobState.QUEUED).order_by("-priority", "queued_at", "id")[:WAITING])
    active = list(jobs.filter(state__in=queries.active_states())[:WAITING])
    now = clock.now()
    standing = sharing.standing_of(actor, found)
    context = {
        "queue": found,
        "amounts": shares.amounts(standing),
        "why_not_more": shares.why(standing),
        "budget": budget_queries.budget_of(actor, found),
        "waiting": reads.rows_of(waiting, now),
        "active": reads.rows_of(active, now),
        "more_waiting": max(0, found.waiting - len(waiting)),  # type: ignore[attr-defined]
        "more_active": max(0, found.active - len(active)),  # type: ignore[attr-defined]
        "may_submit": may_submit(actor) and actor.may_work_in(found.tenant_id),
        "may_manage": may_manage(actor, found.tenant_id),
    }
    return render(request, "scheduling/queue.html", context)


@require_POST
def change_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """open, held or closed, and why. What comes too late is said as a message on the queue's page."""
    actor = actor_of(request)
    found = queries.queue_for(actor, public_id)
    state, reason = request.POST.get("state", ""), request.POST.get("reason", "").replace("\0", "")
    try:
        services.set_queue_state(actor, found, state, reason)
        messages.success(request, str(_CHANGED[state]))
    except Conflict as error:
        messages.warning(request, error.message)
    except InvalidInput as error:
        messages.error(request, "; ".join(f"{e.field}: {e.message}" for e in error.errors))
    return HttpResponseRedirect(reverse("scheduling:queue_detail", args=[found.public_id]))


def _filtered(actor: Actor, request: HttpRequest) -> QuerySet[Queue]:
    rows = queries.queues_for(actor)
    wanted = {name: request.GET.get(name, "").replace("\0", "")[:100] for name in ("tenant", "state", "q")}
    if wanted["tenant"]:
        rows = rows.filter(tenant__slug=wanted["tenant"])
    if wanted["state"] in Queue.State.values:
        rows = rows.filter(state=wanted["state"])
    if wanted["q"]:
        rows = rows.filter(name__icontains=wanted["q"])
    return rows


def _filters(actor: Actor, request: HttpRequest, several: bool) -> list[dict[str, object]]:
    fields: list[dict[str, object]] = [
        {"name": "q", "kind": "text", "label": _("Name"), "value": request.GET.get("q", "")},
        {
            "name": "state",
            "kind": "select",
            "label": _("State"),
            "value": request.GET.get("state", ""),
            "options": Queue.State.choices,
        },
    ]
    if several:
        own = [(tenant.slug, tenant.name) for tenant in tenants.tenants_for(actor)]
        chosen = request.GET.get("tenant", "")
        fields.append({"name": "tenant", "kind": "select", "label": _("Tenant"), "value": chosen, "options": own})
    return fields
