"""Pages of sites, nodes and devices. What moves every second is fetched by the browser from the web room."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from console.common.actor import Actor
from console.common.errors import InvalidInput
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.pairs import pairs
from console.common.signed_in import actor_of
from pool.inventory import queries
from pool.inventory.draining import ask_to_drain
from pool.inventory.filters import NODE_STATES, NodeFilter, node_filter
from pool.inventory.models import Node
from pool.inventory.services.labels import KEPT, set_device_labels, set_node_labels
from pool.inventory.services.states import set_device_state, set_mig_enabled, set_node_state
from pool.inventory.slices import profiles, segments

app_name = "inventory"
EXPORTED = 50_000
NODE_COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("Name"), "name"),
    Column(gettext_lazy("Site"), "site.name"),
    Column(gettext_lazy("Rack"), "rack.name"),
    Column(gettext_lazy("Switch"), "switch.name"),
    Column(gettext_lazy("Model"), "model_name"),
    Column(gettext_lazy("Devices"), "device_count", "number"),
    Column(gettext_lazy("Faulty"), "faulty_count", "number"),
    Column(gettext_lazy("Cards held"), lambda node: node.held_bp / 10_000, "number"),
    Column(gettext_lazy("State"), "state"),
    Column(gettext_lazy("Reachable"), "reachable", "bool"),
]


@require_GET
def nodes(request: HttpRequest) -> HttpResponseBase:
    """Filters: site, rack, model, state (a tab), text; `format` exports exactly what is filtered."""
    actor = actor_of(request)
    where = node_filter(request.GET)
    found = queries.nodes_for(actor, where)
    if wanted := request.GET.get("format"):
        return export_response(wanted, _streamed(found[:EXPORTED]), NODE_COLUMNS, "nodes")
    context = {
        "page": page_of(found, request.GET, order=queries.NODE_ORDER),
        "tabs": _tabs(actor, request, where),
        "filters": _fields(actor, where),
        "filtered": where != NodeFilter(),
        "all": actor.sees_all_work,
    }
    return render(request, "inventory/node_list.html", context)


@require_GET
def node(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    found = queries.node_for(actor, public_id)
    context = {
        "node": found,
        "agent": getattr(found, "agent", None),
        "running": list(queries.running_on_node(actor, found)[:200]),
        "links": list(queries.links_of(actor, found)),
        "all": actor.sees_all_work,
        "operates": actor.is_operator,
        "capacity_bp": found.device_count * 10_000,  # type: ignore[attr-defined]
        "label_lines": _lines({key: value for key, value in found.labels.items() if key != KEPT}),
    }
    return render(request, "inventory/node.html", context)


@require_POST
def node_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `state`: ready, cordoned or draining; `reason` goes to the audit log. Operators only."""
    actor = actor_of(request)
    found = queries.node_for(actor, public_id)
    changed = set_node_state(actor, found, request.POST.get("state", ""), request.POST.get("reason", "")[:200])
    told = {"ready": _("%(name)s takes work again."), "cordoned": _("%(name)s takes no new work.")}
    text = told.get(changed.state, _("%(name)s is draining: no new work, and what runs may end."))
    messages.success(request, text % {"name": found.name})
    return redirect("inventory:node_detail", public_id)


@require_POST
def site_drain(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `reason`: asks a second operator to drain every node of the site."""
    actor = actor_of(request)
    ask_to_drain(actor, queries.site_for(actor, public_id), request.POST.get("reason", ""))
    messages.success(request, _("It is asked for: the site is drained once a second operator approves."))
    return redirect("inventory:site_list")


@require_GET
def device(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    found = queries.device_for(actor, public_id)
    running = list(queries.running_on_device(actor, found))
    context = {
        "device": found,
        "node": found.node,
        "running": running,
        "segments": segments(actor, found, running),
        # what still fits tells what neighbours hold
        "profiles": profiles(actor, found, running) if actor.sees_all_work and found.mig_enabled else [],
        "all": actor.sees_all_work,
        "operates": actor.is_operator,
        "may_mig": bool(found.model.mig_family),
        "label_lines": _lines(found.labels),
    }
    return render(request, "inventory/device.html", context)


@require_POST
def device_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `state`: ready, cordoned or faulty, the last with a `reason`. Operators only."""
    actor = actor_of(request)
    found = queries.device_for(actor, public_id)
    set_device_state(actor, found, request.POST.get("state", ""), request.POST.get("reason", "")[:400])
    messages.success(request, _("GPU %(index)s of %(name)s was changed.") % {"index": found.index, "name": found.node})
    return redirect("inventory:device_detail", public_id)


@require_POST
def device_mig(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `enabled`: on or off; only while nothing runs on the card. Operators only."""
    actor = actor_of(request)
    found = queries.device_for(actor, public_id)
    enabled = request.POST.get("enabled") == "on"
    set_mig_enabled(actor, found, enabled)
    messages.success(request, _("MIG was switched on.") if enabled else _("MIG was switched off."))
    return redirect("inventory:device_detail", public_id)


@require_POST
def node_labels(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `labels`: one name=value a line, all of them. Operators only."""
    actor = actor_of(request)
    found = queries.node_for(actor, public_id)
    if _relabelled(request, lambda labels: set_node_labels(actor, found, labels)):
        messages.success(request, _("The labels of %(name)s were set.") % {"name": found.name})
    return redirect("inventory:node_detail", public_id)


@require_POST
def device_labels(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `labels`: one name=value a line, all of them. Operators only."""
    actor = actor_of(request)
    found = queries.device_for(actor, public_id)
    if _relabelled(request, lambda labels: set_device_labels(actor, found, labels)):
        text = _("The labels of GPU %(index)s of %(name)s were set.")
        messages.success(request, text % {"index": found.index, "name": found.node})
    return redirect("inventory:device_detail", public_id)


def _relabelled(request: HttpRequest, change: Callable[[dict[str, str]], object]) -> bool:
    """False: what was typed is wrong, and a message says how."""
    try:
        change(pairs(request.POST.get("labels", "")[:65_536]))
    except (ValidationError, InvalidInput) as error:
        faults = (
            error.messages if isinstance(error, ValidationError) else [f"{e.field}: {e.message}" for e in error.errors]
        )
        for fault in faults:
            messages.error(request, fault)
        return False
    return True


@require_GET
def sites(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    return render(
        request, "inventory/site_list.html", {"sites": list(queries.sites_for(actor)), "drains": actor.is_operator}
    )


@require_GET
def devices(request: HttpRequest) -> HttpResponse:
    """The list of all cards is the heatmap's table; a tenant finds its own by their nodes."""
    actor = actor_of(request)
    if not actor.sees_all_work:
        return redirect("inventory:node_list")
    query = request.META.get("QUERY_STRING", "")
    return redirect(reverse("web:heatmap_table") + (f"?{query}" if query else ""))


def _lines(labels: dict[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _streamed(rows: QuerySet[Node]) -> Iterator[Node]:
    return rows.iterator(chunk_size=500)


def _tabs(actor: Actor, request: HttpRequest, where: NodeFilter) -> list[dict[str, Any]]:
    counts = queries.node_counts(actor)
    labels = {"": _("All"), **dict(Node.State.choices), "unreachable": _("Unreachable")}
    kept = {key: value for key, value in request.GET.items() if key not in {"state", "after", "before"}}
    tabs = []
    for state in ("", *NODE_STATES):
        query = {**kept, "state": state} if state else kept
        url = reverse("inventory:node_list") + _query(query)
        count = counts[state or "all"]
        tabs.append({"label": labels[state], "url": url, "current": state == where.state, "count": count})
    return tabs


def _query(values: dict[str, Any]) -> str:
    return f"?{urlencode(values)}" if values else ""


def _fields(actor: Actor, where: NodeFilter) -> list[dict[str, Any]]:
    places = [(site.name, site.name) for site in queries.sites_for(actor)]
    models = [(model.name, model.name) for model in queries.models_for(actor)]
    return [
        {"name": "state", "kind": "hidden", "value": where.state},
        {"name": "text", "kind": "text", "label": _("Node or rack"), "value": where.text},
        {"name": "site", "kind": "select", "label": _("Site"), "value": where.site, "options": places},
        {"name": "rack", "kind": "text", "label": _("Rack"), "value": where.rack},
        {"name": "model", "kind": "select", "label": _("Model"), "value": where.model, "options": models},
    ]


urlpatterns: list[URLPattern] = [
    path("nodes/", nodes, name="node_list"),
    path("nodes/<str:public_id>/", node, name="node_detail"),
    path("nodes/<str:public_id>/state", node_state, name="node_state"),
    path("nodes/<str:public_id>/labels", node_labels, name="node_labels"),
    path("devices/", devices, name="device_list"),
    path("devices/<str:public_id>/", device, name="device_detail"),
    path("devices/<str:public_id>/state", device_state, name="device_state"),
    path("devices/<str:public_id>/mig", device_mig, name="device_mig"),
    path("devices/<str:public_id>/labels", device_labels, name="device_labels"),
    path("sites/", sites, name="site_list"),
    path("sites/<str:public_id>/drain", site_drain, name="site_drain"),
]
