"""API v1 of hardware: nodes and devices. Operators and auditors see all, a tenant what it holds something on."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.actor import Actor
from console.common.api import params
from console.common.api.views import ApiView, ListView, idempotent
from console.common.exports import Column
from pool.inventory import filters, queries, services
from pool.inventory.models import Device, Node


class _Scoped(serializers.Serializer[Any]):
    """`used_*` tells what neighbours hold: only those who see all work get it."""

    held_bp = serializers.IntegerField(help_text="held by work that you may see, in basis points of a card")
    held_memory_mib = serializers.IntegerField(source="held_mib")

    def shows_all(self) -> bool:
        actor: Actor = self.context["actor"]
        return actor.sees_all_work


class NodeRow(_Scoped, serializers.ModelSerializer[Node]):
    id = serializers.CharField(source="public_id")
    site = serializers.CharField(source="site.name")
    pod = serializers.CharField(source="pod.name", default=None, allow_null=True)
    switch = serializers.CharField(source="switch.name", default=None, allow_null=True)
    rack = serializers.CharField(source="rack.name", default=None, allow_null=True)
    devices = serializers.IntegerField(source="device_count")
    faulty_devices = serializers.IntegerField(source="faulty_count")
    model = serializers.CharField(source="model_name", allow_null=True)
    used_cpu_milli = serializers.SerializerMethodField()
    used_memory_mib = serializers.SerializerMethodField()

    class Meta:
        model = Node
        fields = [
            "id",
            "name",
            "site",
            "pod",
            "switch",
            "rack",
            "state",
            "reachable",
            "backend",
            "labels",
            "model",
            "devices",
            "faulty_devices",
            "cpu_milli",
            "memory_mib",
            "used_cpu_milli",
            "used_memory_mib",
            "held_bp",
            "held_memory_mib",
        ]

    def get_used_cpu_milli(self, node: Node) -> int | None:
        return node.used_cpu_milli if self.shows_all() else None

    def get_used_memory_mib(self, node: Node) -> int | None:
        return node.used_memory_mib if self.shows_all() else None


class DeviceRow(_Scoped, serializers.ModelSerializer[Device]):
    id = serializers.CharField(source="public_id")
    node = serializers.CharField(source="node.name")
    node_id = serializers.CharField(source="node.public_id")
    site = serializers.CharField(source="node.site.name")
    model = serializers.CharField(source="model.name")
    vendor = serializers.CharField(source="model.vendor")
    used_share_bp = serializers.SerializerMethodField()
    used_memory_mib = serializers.SerializerMethodField()

    class Meta:
        model = Device
        fields = [
            "id",
            "node",
            "node_id",
            "site",
            "index",
            "uuid",
            "vendor",
            "model",
            "memory_mib",
            "mig_enabled",
            "nvlink_island",
            "numa_node",
            "pci_address",
            "labels",
            "state",
            "state_reason",
            "added_at",
            "retired_at",
            "used_share_bp",
            "used_memory_mib",
            "held_bp",
            "held_memory_mib",
        ]

    def get_used_share_bp(self, device: Device) -> int | None:
        return device.used_share_bp if self.shows_all() else None

    def get_used_memory_mib(self, device: Device) -> int | None:
        return device.used_memory_mib if self.shows_all() else None


class NodeFilters(params.Filters):
    site = serializers.CharField(required=False, max_length=64, help_text="name or id")
    rack = serializers.CharField(required=False, max_length=64)
    model = serializers.CharField(required=False, max_length=64)
    state = serializers.ChoiceField(choices=list(filters.NODE_STATES), required=False)
    text = serializers.CharField(required=False, max_length=200, help_text="part of the name, or the id")
    min_free_bp = serializers.IntegerField(
        required=False, min_value=0, max_value=10_000, help_text="on one card; for those who see all work"
    )


class DeviceFilters(NodeFilters):
    node = serializers.CharField(required=False, max_length=40, help_text="id")
    state = serializers.ChoiceField(choices=list(filters.DEVICE_STATES), required=False)
    mig = serializers.ChoiceField(choices=["on", "off"], required=False)


class StateChange(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, max_length=200, allow_blank=True, default="")


class LabelChange(serializers.Serializer[Any]):
    labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=200), help_text="all of them, in place of the old ones"
    )


class Nodes(ListView):
    """Nodes that you may see, by name."""

    room = "fleet"
    order = queries.NODE_ORDER
    filters = NodeFilters
    row = NodeRow
    columns = [
        Column("id", "public_id"),
        Column("name", "name"),
        Column("site", "site.name"),
        Column("rack", "rack.name"),
        Column("state", "state"),
        Column("reachable", "reachable", "bool"),
        Column("model", "model_name"),
        Column("devices", "device_count", "number"),
        Column("faulty_devices", "faulty_count", "number"),
        Column("cpu_milli", "cpu_milli", "number"),
        Column("memory_mib", "memory_mib", "number"),
        Column("held_bp", "held_bp", "number"),
        Column("held_memory_mib", "held_mib", "number"),
    ]
    file_name = "nodes"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Node]:
        return queries.nodes_for(self.actor, filters.NodeFilter(**_place(wanted)))


class NodePage(ApiView):
    room = "fleet"

    @extend_schema(responses={200: NodeRow}, operation_id="nodes_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One node."""
        node = queries.node_for(self.actor, public_id)
        return Response(NodeRow(node, context={"actor": self.actor}).data)


class Devices(ListView):
    """Devices that you may see, by the name of their node and their index."""

    room = "fleet"
    order = queries.DEVICE_ORDER
    filters = DeviceFilters
    row = DeviceRow
    columns = [
        Column("id", "public_id"),
        Column("node", "node.name"),
        Column("index", "index", "number"),
        Column("uuid", "uuid"),
        Column("model", "model.name"),
        Column("memory_mib", "memory_mib", "number"),
        Column("mig_enabled", "mig_enabled", "bool"),
        Column("state", "state"),
        Column("state_reason", "state_reason"),
        Column("held_bp", "held_bp", "number"),
        Column("held_memory_mib", "held_mib", "number"),
    ]
    file_name = "devices"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Device]:
        return queries.devices_for(self.actor, filters.DeviceFilter(**_place(wanted)))


class DevicePage(ApiView):
    room = "fleet"

    @extend_schema(responses={200: DeviceRow}, operation_id="devices_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One device."""
        device = queries.device_for(self.actor, public_id)
        return Response(DeviceRow(device, context={"actor": self.actor}).data)


class _NodeState(ApiView):
    room = "fleet"
    state: str

    def change(self, request: Request, public_id: str) -> Response:
        given = params.body(StateChange, self.sent)
        node = queries.node_for(self.actor, public_id)
        services.set_node_state(self.actor, node, self.state, given["reason"])
        fresh = queries.node_for(self.actor, public_id)
        return Response(NodeRow(fresh, context={"actor": self.actor}).data)


class Cordon(_NodeState):
    state = Node.State.CORDONED

    @extend_schema(request=StateChange, responses={200: NodeRow}, operation_id="nodes_cordon")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Place no new work on it; what runs goes on. Operators only."""
        return self.change(request, public_id)


class Drain(_NodeState):
    state = Node.State.DRAINING

    @extend_schema(request=StateChange, responses={200: NodeRow}, operation_id="nodes_drain")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Place no new work on it: it is to become empty. Operators only."""
        return self.change(request, public_id)


class Uncordon(_NodeState):
    state = Node.State.READY

    @extend_schema(request=StateChange, responses={200: NodeRow}, operation_id="nodes_uncordon")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Place work on it again. Operators only."""
        return self.change(request, public_id)


class NodeLabels(ApiView):
    room = "fleet"

    @extend_schema(request=LabelChange, responses={200: NodeRow}, operation_id="nodes_labels")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Set the labels of a node, which hold for all its cards. Operators only."""
        given = params.body(LabelChange, self.sent)
        services.set_node_labels(self.actor, queries.node_for(self.actor, public_id), given["labels"])
        fresh = queries.node_for(self.actor, public_id)
        return Response(NodeRow(fresh, context={"actor": self.actor}).data)


class DeviceLabels(ApiView):
    room = "fleet"

    @extend_schema(request=LabelChange, responses={200: DeviceRow}, operation_id="devices_labels")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Set the labels of one card; they go before those of its node. Operators only."""
        given = params.body(LabelChange, self.sent)
        services.set_device_labels(self.actor, queries.device_for(self.actor, public_id), given["labels"])
        fresh = queries.device_for(self.actor, public_id)
        return Response(DeviceRow(fresh, context={"actor": self.actor}).data)


def _place(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if name != "format"}
