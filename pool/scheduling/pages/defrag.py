"""Plans of moves against fragmentation: what each would cost and bring, approved or rejected by an operator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from console.common import formats
from console.common.actor import Actor
from console.common.errors import Conflict
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from pool.inventory.models import Device, Node
from pool.scheduling.defrag import queries
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules, DefragStep
from pool.scheduling.pages import asking
from pool.scheduling.services.defrag import approve_plan, ask_for_plan, reject_plan

COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("At"), "created_at", "time"),
    Column(gettext_lazy("State"), "state"),
    Column(gettext_lazy("Mode"), "mode"),
    Column(gettext_lazy("Moves"), "moves", "number"),
    Column(gettext_lazy("Lost GPU-seconds"), "cost_s", "number"),
    Column(gettext_lazy("Approved by"), "approved_by"),
]
_DONE: dict[str, tuple[Callable[[Actor, DefragPlan], DefragPlan], str | Promise]] = {
    "approve": (approve_plan, gettext_lazy("The plan is being carried out.")),
    "reject": (reject_plan, gettext_lazy("The plan was dropped; moves that were begun are finished.")),
}


@dataclass(frozen=True, slots=True)
class MoveRow:
    """`origin` and `target`: node and cards, "node-1: 0, 1"."""

    move: DefragMove
    origin: str
    target: str


@dataclass(frozen=True, slots=True)
class StepRow:
    step: DefragStep
    work: str
    block: str
    moves: list[MoveRow]


@require_GET
def plan_list(request: HttpRequest) -> HttpResponse:
    """Filters: state."""
    actor = actor_of(request)
    queries.may_see(actor)
    page = page_of(_filtered(actor, request), request.GET)
    context = {
        "page": page,
        "plans": [(row, _change(row)) for row in page.rows],
        "rules": queries.rules(),
        "mode": dict(DefragRules.Mode.choices)[queries.rules().mode],
        "operates": actor.is_operator,
        "filters": [
            {
                "name": "state",
                "kind": "select",
                "label": _("State"),
                "value": request.GET.get("state", ""),
                "options": DefragPlan.State.choices,
            }
        ],
    }
    return render(request, "scheduling/defrag_list.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    actor = actor_of(request)
    queries.may_see(actor)
    rows = _filtered(actor, request)[:10_000]
    return export_response(request.GET.get("format", "csv"), rows, COLUMNS, "defrag-plans")


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    """A plan on demand; it is there after some seconds."""
    actor = actor_of(request)
    found = ask_for_plan(actor)
    return HttpResponseRedirect(reverse("scheduling:defrag_plan", args=[found.public_id]))


@require_GET
def plan(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    queries.may_see(actor)
    found = queries.plan_for(actor, public_id)
    context = {
        "plan": found,
        "change": _change(found),
        "steps": _steps(found),
        "open": found.state in (DefragPlan.State.PROPOSED, DefragPlan.State.RUNNING),
        "live": found.ended_at is None,
        "approvable": found.state == DefragPlan.State.PROPOSED and found.mode != DefragRules.Mode.PREVIEW,
        "operates": actor.is_operator,
        "classes": _classes(found),
    }
    return render(request, "scheduling/defrag_plan.html", context)


@require_POST
def act(request: HttpRequest, public_id: str, action: str) -> HttpResponse:
    """approve or reject. What comes too late is said as a message on the plan's page."""
    actor = actor_of(request)
    if action not in _DONE:
        raise Http404
    queries.may_see(actor)
    found = queries.plan_for(actor, public_id)
    service, done = _DONE[action]
    try:
        service(actor, found)
        messages.success(request, str(done))
    except Conflict as error:
        messages.warning(request, error.message)
    return HttpResponseRedirect(reverse("scheduling:defrag_plan", args=[found.public_id]))


def _filtered(actor: Actor, request: HttpRequest) -> QuerySet[DefragPlan]:
    rows = queries.plans_for(actor)
    state = request.GET.get("state", "")
    return rows.filter(state=state) if state in DefragPlan.State.values else rows


def _change(plan: DefragPlan) -> tuple[str, str, str, str] | None:
    """Fragmentation before and after, and the mean over the classes, in percent."""
    before, after = plan.before, plan.after
    if not before or not after:
        return None
    return (
        formats.percent(before["stranded_bp"], before["capacity_bp"], 2),
        formats.percent(after["stranded_bp"], after["capacity_bp"], 2),
        formats.percent(before["spread_bp"], 10_000, 2),
        formats.percent(after["spread_bp"], 10_000, 2),
    )


def _classes(plan: DefragPlan) -> list[tuple[str, int, int, int]]:
    """Classes that can use more afterwards: how many of it fit before and after, and how many wait."""
    pairs = zip(plan.before.get("classes", []), plan.after.get("classes", []), strict=True)
    return [
        (asking.of_work(before), before["fits"], after["fits"], before["waiting"])
        for before, after in pairs
        if before["fits"] != after["fits"]
    ]


def _steps(plan: DefragPlan) -> list[StepRow]:
    steps = list(plan.steps.all())
    names = _Names(steps)
    return [
        StepRow(
            step,
            asking.of_work(step.work),
            names.placed(step.placement),
            [MoveRow(move, names.held(move.source), names.placed(move.target)) for move in step.moves.all()],
        )
        for step in steps
    ]


class _Names:
    """Names of the nodes and numbers of the cards of a plan: two queries."""

    def __init__(self, steps: list[DefragStep]) -> None:
        places = [step.placement for step in steps] + [move.target for step in steps for move in step.moves.all()]
        sources = [move.source for step in steps for move in step.moves.all()]
        replicas = [replica for place in places for replica in place["replicas"]]
        nodes = {replica["node_key"] for replica in replicas} | {source["node"] for source in sources}
        cards = {part["device_key"] for replica in replicas for part in replica["devices"]}
        cards |= {part[0] for source in sources for part in source["parts"] if part[0] is not None}
        self.nodes = dict(Node.objects.filter(pk__in=nodes).values_list("pk", "name"))
        self.cards = dict(Device.objects.filter(pk__in=cards).values_list("pk", "index"))

    def placed(self, place: dict[str, Any]) -> str:
        return "; ".join(
            self._text(replica["node_key"], [(part["device_key"], part["mig_start"]) for part in replica["devices"]])
            for replica in place["replicas"]
        )

    def held(self, source: dict[str, Any]) -> str:
        return self._text(source["node"], [(part[0], part[5]) for part in source["parts"] if part[0] is not None])

    def _text(self, node: int, parts: list[tuple[int, int]]) -> str:
        cards = [str(self.cards.get(key, "?")) + (f"/{start}" if start >= 0 else "") for key, start in parts]
        return f"{self.nodes.get(node, '?')}: {', '.join(cards)}"
