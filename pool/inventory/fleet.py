"""The inventory as the engine sees it."""

from collections.abc import Iterable

from django.conf import settings
from django.db.models import QuerySet

from console.common import sql
from pool.engine.types import DeviceSpec, NodeSpec
from pool.inventory.models import Device, Node


def node_versions() -> dict[int, int]:
    """Node primary key -> version. Raised by triggers with every change that placement must know of."""
    return dict(sql.fetch("SELECT id, version FROM inventory_node"))


def node_specs(node_ids: Iterable[int] | None = None) -> dict[int, tuple[int, NodeSpec]]:
    """Node primary key -> (version, NodeSpec), of all nodes or of these. Two queries.

    A card's memory is what work may hold: the driver's reserve (a setting, in percent) is taken off. A retired card
    is among them only while work still holds it.
    """
    nodes = Node.objects.all()
    devices = Device.objects.exclude(retired_at__isnull=False, live_shared=0, live_mig=0)
    if node_ids is not None:
        wanted = list(node_ids)
        nodes, devices = nodes.filter(pk__in=wanted), devices.filter(node_id__in=wanted)
    cards = _cards(devices)
    rows = nodes.values_list(
        "pk",
        "version",
        "name",
        "site__name",
        "pod__name",
        "switch__name",
        "rack__name",
        "cpu_milli",
        "memory_mib",
        "state",
        "reachable",
    )
    return {
        pk: (
            version,
            NodeSpec(
                key=pk,
                name=name,
                site=site,
                pod=pod or "",
                switch=switch or "",
                rack=rack or "",
                cpu_milli=cpu,
                memory_mib=memory,
                devices=tuple(cards.get(pk, ())),
                schedulable=state == Node.State.READY and reachable,
            ),
        )
        for pk, version, name, site, pod, switch, rack, cpu, memory, state, reachable in rows
    }


def _cards(devices: "QuerySet[Device]") -> dict[int, list[DeviceSpec]]:
    usable = 100 - settings.WEIR_DRIVER_RESERVE_PERCENT
    rows = devices.order_by("node_id", "index").values_list(
        "node_id",
        "pk",
        "index",
        "model__name",
        "memory_mib",
        "model__mig_family",
        "mig_enabled",
        "nvlink_island",
        "state",
    )
    cards: dict[int, list[DeviceSpec]] = {}
    for node, pk, index, model, memory, family, mig, island, state in rows:
        cards.setdefault(node, []).append(
            DeviceSpec(
                key=pk,
                index=index,
                model=model,
                memory_mib=memory * usable // 100,
                mig_family=family,
                mig_enabled=mig,
                nvlink_island=island,
                schedulable=state == Device.State.READY,
            )
        )
    return cards
