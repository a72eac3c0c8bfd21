"""The inventory as the engine sees it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings

from console.common import sql
from pool.engine.selectors import Labels
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
    where, values = ("1 = 1", []) if node_ids is None else sql.among("n.id", list(node_ids))
    with sql.together():
        nodes, devices = sql.ask(_NODES.format(where=where), *values), sql.ask(_DEVICES.format(where=where), *values)
    cards = _cards(devices.rows())
    return {
        pk: (
            version,
            NodeSpec(
                key=pk,
                name=name,
                site=site,
                pod=pod,
                switch=switch,
                rack=rack,
                cpu_milli=cpu,
                memory_mib=memory,
                devices=tuple(cards.get(pk, ())),
                schedulable=state == Node.State.READY and bool(reachable),
                labels=_labels(labels),
                fabric=fabric,
            ),
        )
        for pk, version, name, site, pod, switch, rack, cpu, memory, state, reachable, labels, fabric in nodes.rows()
    }


@lru_cache(maxsize=4096)
def _labels(text: str) -> Labels:
    # where a node answers is nothing to choose cards by, and would make each node a sort of its own
    return tuple(sorted((key, value) for key, value in orjson.loads(text).items() if key != "address"))


# written by hand: the scheduler reads changed nodes all the time, and compiling took longer than reading
_NODES = (
    "SELECT n.id, n.version, n.name, s.name, COALESCE(p.name, ''), COALESCE(w.name, ''), COALESCE(r.name, ''),"
    " n.cpu_milli, n.memory_mib, n.state, n.reachable, n.labels, s.fabric"
    " FROM inventory_node n JOIN inventory_site s ON s.id = n.site_id"
    " LEFT JOIN inventory_domain p ON p.id = n.pod_id LEFT JOIN inventory_domain w ON w.id = n.switch_id"
    " LEFT JOIN inventory_domain r ON r.id = n.rack_id WHERE {where}"
)
_DEVICES = (
    'SELECT n.id, d.id, d."index", m.name, d.memory_mib, m.mig_family, d.mig_enabled, d.nvlink_island, d.state,'
    " m.vendor, d.labels"
    " FROM inventory_node n JOIN inventory_device d ON d.node_id = n.id"
    " JOIN inventory_devicemodel m ON m.id = d.model_id WHERE {where}"
    ' AND NOT (d.retired_at IS NOT NULL AND d.live_shared = 0 AND d.live_mig = 0) ORDER BY n.id, d."index"'
)


def _cards(rows: list[tuple[Any, ...]]) -> dict[int, list[DeviceSpec]]:
    usable = 100 - settings.WEIR_DRIVER_RESERVE_PERCENT
    cards: dict[int, list[DeviceSpec]] = {}
    for node, pk, index, model, memory, family, mig, island, state, vendor, labels in rows:
        cards.setdefault(node, []).append(
            DeviceSpec(
                key=pk,
                index=index,
                model=model,
                memory_mib=memory * usable // 100,
                mig_family=family,
                mig_enabled=bool(mig),
                nvlink_island=island,
                schedulable=state == Device.State.READY,
                vendor=vendor,
                labels=_labels(labels),
            )
        )
    return cards
