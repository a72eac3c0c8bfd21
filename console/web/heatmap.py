"""What the heatmap fetches beside its frames: layout, tenants, panels, and the same data as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from console.common import clock
from console.common.actor import Actor
from console.common.errors import NotAllowed, NotFound
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants.models import Tenant
from console.web import access, figures, sparkline
from pool.inventory import queries as inventory
from pool.inventory.filters import DEVICE_STATES, device_filter
from pool.inventory.models import Device
from pool.inventory.slices import segments
from pool.nodes import readings
from pool.nodes.heatmap import layout as layouts
from pool.nodes.readings import Reading
from pool.scheduling import queries

EXPORTED = 120_000
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


def _viewer(request: HttpRequest) -> Actor:
    """The acting person, if the whole fleet is theirs to see."""
    actor = actor_of(request)
    if not actor.sees_all_work:
        raise NotAllowed(_("The heatmap of the whole fleet is for operators and auditors."))
    return actor


@require_GET
@never_cache
def layout(request: HttpRequest) -> HttpResponse:
    """The order of devices in a frame, as JSON (pool/nodes/heatmap/layout.py)."""
    _viewer(request)
    document = readings.layout_document() or layouts.read().document
    return HttpResponse(document, content_type="application/json")


@require_GET
@never_cache
def tenants(request: HttpRequest) -> JsonResponse:
    """The tenant table: the value of a cell on the tenant layer is 1 + its row here."""
    _viewer(request)
    return JsonResponse({"tenants": list(Tenant.objects.order_by("pk").values_list("slug", flat=True))})


@require_GET
@never_cache
def device_panel(request: HttpRequest, node: str, index: int) -> HttpResponse:
    """The panel beside the heatmap: one card, renewing itself."""
    actor = _viewer(request)
    return render(request, "web/device_panel.html", _card(actor, _device_at(actor, node, index)))


@require_GET
def device_at(request: HttpRequest, node: str, index: int) -> HttpResponse:
    """To the page of a card that is known by its node and number."""
    actor = actor_of(request)
    return redirect("inventory:device_detail", _device_at(actor, node, index).public_id)


@require_GET
@never_cache
def node_panel(request: HttpRequest, node: str) -> HttpResponse:
    """The last step of the zoom: every card of a node with its slices."""
    actor = actor_of(request)
    found = inventory.node_for(actor, node)
    devices = list(inventory.devices_for(actor).filter(node=found))
    live = access.readings_for(actor, devices)
    held: dict[int, list[Any]] = {}
    for row in inventory.running_on_node(actor, found):
        if row.device_id is not None:
            held.setdefault(row.device_id, []).append(row)
    cards = [
        {
            "device": each,
            "reading": live.get(each.pk),
            "segments": segments(actor, each, held.get(each.pk, [])),
        }
        for each in devices
    ]
    return render(request, "web/node_panel.html", {"node": found, "cards": cards})


@require_GET
@never_cache
def device_now(request: HttpRequest, public_id: str) -> HttpResponse:
    """Live facts of one card for its page."""
    actor = actor_of(request)
    device = inventory.device_for(actor, public_id)
    reading = access.readings_for(actor, [device]).get(device.pk)
    context = {"device": device, "reading": reading, "hidden": not access.sees_telemetry(actor, device)}
    return render(request, "web/device_now.html", context)


@require_GET
@never_cache
def device_history(request: HttpRequest, public_id: str, chart: str) -> JsonResponse:
    """`chart`: "use" or "heat". A day of rollups, for a tenant no further back than it holds the whole card."""
    actor = actor_of(request)
    device = inventory.device_for(actor, public_id)
    since = access.history_from(actor, device, clock.now() - _DAY)
    points = [] if since is None else readings.history(device, since)
    if chart == "use":
        return JsonResponse(figures.device_use(points))
    if chart == "heat":
        return JsonResponse(figures.device_heat(points, device.model.power_limit_w))
    raise NotFound(_("there is no such chart"))


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table equivalent."""

    device: Device
    reading: Reading | None
    tenants: str


COLUMNS = [
    Column(gettext_lazy("Site"), "device.node.site.name"),
    Column(gettext_lazy("Rack"), "device.node.rack.name"),
    Column(gettext_lazy("Node"), "device.node.name"),
    Column(gettext_lazy("GPU"), "device.index", "number"),
    Column(gettext_lazy("Model"), "device.model.name"),
    Column(gettext_lazy("Utilisation, %"), lambda row: row.reading and row.reading.utilisation_bp / 100, "number"),
    Column(gettext_lazy("Memory, %"), lambda row: row.reading and row.reading.memory_bp / 100, "number"),
    Column(gettext_lazy("Allocated, %"), lambda row: row.device.held_bp / 100, "number"),
    Column(gettext_lazy("Temperature, °C"), "reading.temperature_c", "number"),
    Column(gettext_lazy("Power, W"), "reading.power_w", "number"),
    Column(gettext_lazy("Tenants"), "tenants"),
    Column(gettext_lazy("Node state"), "device.node.state"),
    Column(gettext_lazy("Device state"), "device.state"),
]


@require_GET
@never_cache
def table(request: HttpRequest) -> HttpResponseBase:
    """The heatmap as a table: the same cards and layers, filtered in the URL. `format` exports it."""
    actor = _viewer(request)
    where = device_filter(request.GET)
    devices = inventory.devices_for(actor, where)
    if wanted := request.GET.get("format"):
        return export_response(wanted, _streamed(actor, devices[:EXPORTED]), COLUMNS, "devices")
    page = page_of(devices, request.GET, order=inventory.DEVICE_ORDER)
    context = {
        "page": page,
        "rows": _rows(actor, page.rows),
        "filters": _fields(actor, request),
        "filtered": any(request.GET.get(name) for name in ("site", "rack", "model", "state", "text", "mig")),
    }
    return render(request, "web/heatmap_table.html", context)


def _rows(actor: Actor, devices: list[Device]) -> list[Row]:
    """Three queries, however many cards."""
    live = access.readings_for(actor, devices)
    holders: dict[int, set[str]] = {}
    held = queries.allocations_for(actor, live=True).filter(device__in=[each.pk for each in devices])
    for device, slug in held.order_by().values_list("device_id", "tenant__slug").distinct():
        holders.setdefault(device, set()).add(slug)
    return [Row(each, live.get(each.pk), ", ".join(sorted(holders.get(each.pk, ())))) for each in devices]


def _streamed(actor: Actor, devices: QuerySet[Device]) -> Iterator[Row]:
    batch: list[Device] = []
    for device in devices.iterator(chunk_size=500):
        batch.append(device)
        if len(batch) == 500:
            yield from _rows(actor, batch)
            batch = []
    yield from _rows(actor, batch)


def _fields(actor: Actor, request: HttpRequest) -> list[dict[str, Any]]:
    sites = [(site.name, site.name) for site in inventory.sites_for(actor)]
    models = [(model.name, model.name) for model in inventory.models_for(actor)]
    labels = {**dict(Device.State.choices), "unreachable": _("Unreachable"), "retired": _("Retired")}
    states = [(state, labels[state]) for state in DEVICE_STATES]
    value = request.GET.get
    return [
        {"name": "text", "kind": "text", "label": _("Node or device"), "value": value("text", "")},
        {"name": "site", "kind": "select", "label": _("Site"), "value": value("site", ""), "options": sites},
        {"name": "rack", "kind": "text", "label": _("Rack"), "value": value("rack", "")},
        {
            "name": "model",
            "kind": "select",
            "label": _("Model"),
            "value": value("model", ""),
            "options": models,
        },
        {
            "name": "state",
            "kind": "select",
            "label": _("State"),
            "value": value("state", ""),
            "options": states,
        },
    ]


def _device_at(actor: Actor, node: str, index: int) -> Device:
    device = inventory.devices_for(actor).filter(node__public_id=node, index=index).first()
    if device is None:
        raise NotFound(_("there is no such device"))
    return device


def _card(actor: Actor, device: Device) -> dict[str, Any]:
    points = readings.history(device, clock.now() - _HOUR)
    held = list(inventory.running_on_device(actor, device))
    return {
        "device": device,
        "reading": access.readings_for(actor, [device]).get(device.pk),
        "segments": segments(actor, device, held),
        "spark": sparkline.draw([point.utilisation_bp / 100 for point in points]),
    }


urlpatterns: list[URLPattern] = [
    path("heatmap/layout.json", layout, name="heatmap_layout"),
    path("heatmap/tenants.json", tenants, name="heatmap_tenants"),
    path("heatmap/table/", table, name="heatmap_table"),
    path("heatmap/nodes/<str:node>/", node_panel, name="heatmap_node"),
    path("heatmap/nodes/<str:node>/<int:index>/", device_panel, name="heatmap_device"),
    path("heatmap/nodes/<str:node>/<int:index>/open", device_at, name="device_at"),
    path("heatmap/devices/<str:public_id>/now", device_now, name="device_now"),
    path("heatmap/devices/<str:public_id>/history/<str:chart>.json", device_history, name="device_history"),
]
