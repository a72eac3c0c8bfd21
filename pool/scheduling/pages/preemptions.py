"""Who took from whom: plans that stopped some work so that other work could start."""

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from console.common.actor import Actor
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from pool.scheduling.models import Preemption
from pool.scheduling.preemption import queries as preemptions
from pool.scheduling.preemption.queries import Told

COLUMNS = [
    Column(gettext_lazy("Id"), "row.public_id"),
    Column(gettext_lazy("At"), "row.created_at", "time"),
    Column(gettext_lazy("State"), "row.state"),
    Column(gettext_lazy("Why"), "row.why"),
    Column(gettext_lazy("For job"), lambda told: told.job.public_id if told.job else ""),
    Column(gettext_lazy("Stopped jobs"), lambda told: " ".join(victim.job.public_id for victim in told.victims)),
    Column(gettext_lazy("Lost GPU-seconds"), "cost_s", "number"),
]


@require_GET
def preemption_list(request: HttpRequest) -> HttpResponse:
    """Filters: state, why."""
    actor = actor_of(request)
    page = page_of(_filtered(actor, request), request.GET)
    context = {
        "page": page,
        "rows": preemptions.tell(actor, page.rows),
        "filters": _filters(request),
    }
    return render(request, "scheduling/preemptions.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    actor = actor_of(request)
    rows: list[Told] = preemptions.tell(actor, _filtered(actor, request)[:10_000])
    return export_response(request.GET.get("format", "csv"), rows, COLUMNS, "preemptions")


def _filtered(actor: Actor, request: HttpRequest) -> QuerySet[Preemption]:
    rows = preemptions.preemptions_for(actor)
    if request.GET.get("state") in Preemption.State.values:
        rows = rows.filter(state=request.GET["state"])
    if request.GET.get("why") in Preemption.Why.values:
        rows = rows.filter(why=request.GET["why"])
    return rows


def _filters(request: HttpRequest) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "kind": "select",
            "label": label,
            "value": request.GET.get(name, ""),
            "options": options,
        }
        for name, label, options in (
            ("state", _("State"), Preemption.State.choices),
            ("why", _("Why"), Preemption.Why.choices),
        )
    ]
