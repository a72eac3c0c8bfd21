"""What the database holds about the hardware that drafts speak of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pool.inventory.importing import NodeDraft
from pool.inventory.models import Device, DeviceModel, Domain, Link, Node, Site

T = TypeVar("T")
_AT_ONCE = 5_000  # well below the least number of variables that SQLite is built with


@dataclass(slots=True)
class Known:
    """`devices` by node id and index; `holders`: the device that has a uuid which a draft names for another slot."""

    sites: dict[str, Site]
    domains: dict[tuple[int, str, str], Domain]
    models: dict[str, DeviceModel]
    nodes: dict[str, Node] = field(default_factory=dict)
    devices: dict[int, dict[int, Device]] = field(default_factory=dict)
    links: dict[int, dict[tuple[int, int], Link]] = field(default_factory=dict)
    holders: dict[str, Device] = field(default_factory=dict)

    def slots(self, node: Node | None) -> dict[int, Device]:
        return self.devices.get(node.pk, {}) if node else {}


def load(drafts: Sequence[NodeDraft]) -> Known:
    """Five queries for nodes that are as drafted, whether one or thousands (more past 5,000)."""
    known = Known({}, {}, {})
    load_ground(known, drafts)
    for names in _parts([draft.name for draft in drafts]):
        for node in Node.objects.filter(name__in=names).select_related("site", "pod", "switch", "rack"):
            known.nodes[node.name] = node
    nodes = list(known.nodes.values())
    for part in _parts(nodes):
        for device in Device.objects.filter(node__in=part).select_related("model"):
            known.devices.setdefault(device.node_id, {})[device.index] = device
    _load_links(known, [known.nodes[d.name] for d in drafts if d.links is not None and d.name in known.nodes])
    _load_holders(known, drafts)
    return known


def load_ground(known: Known, drafts: Sequence[NodeDraft]) -> None:
    """Sites, domains and models only. Three queries."""
    sites = {draft.site for draft in drafts}
    models = {device.model for draft in drafts for device in draft.devices or ()}
    known.sites.update((row.name, row) for row in Site.objects.filter(name__in=sites))
    domains = Domain.objects.filter(site__name__in=sites)
    known.domains.update(((row.site_id, row.kind, row.name), row) for row in domains)
    known.models.update((row.name, row) for row in DeviceModel.objects.filter(name__in=models))


def is_live(device: Device) -> bool:
    """Something holds a part of the card."""
    return bool(device.live_shared or device.live_mig)


def is_busy(node: Node, slots: dict[int, Device]) -> bool:
    """Something holds a part of the node or of one of its cards."""
    return bool(node.used_cpu_milli or node.used_memory_mib) or any(map(is_live, slots.values()))


def _load_links(known: Known, nodes: list[Node]) -> None:
    for part in _parts(nodes):
        for link in Link.objects.filter(a__node__in=part).select_related("a", "b"):
            known.links.setdefault(link.a.node_id, {})[link.a.index, link.b.index] = link


def _load_holders(known: Known, drafts: Sequence[NodeDraft]) -> None:
    new = []
    for draft in drafts:
        slots = known.slots(known.nodes.get(draft.name))
        for card in draft.devices or ():
            slot = slots.get(card.index)
            if card.uuid and (slot is None or slot.uuid != card.uuid):
                new.append(card.uuid)
    for part in _parts(new):
        for device in Device.objects.filter(uuid__in=part).select_related("node"):
            known.holders[device.uuid] = device


def _parts(items: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
