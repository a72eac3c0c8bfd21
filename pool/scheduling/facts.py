"""Facts about devices and nodes that placements are written with, remembered between commits."""

from collections.abc import Iterable
from dataclasses import dataclass

from pool.inventory.models import Device, Node


@dataclass(frozen=True, slots=True)
class NodeFacts:
    name: str
    site_id: int


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    index: int
    uuid: str
    model: str
    vendor: str
    mig_family: str
    memory_mib: int


class Facts:
    """Read once a node; `forget` when the fleet says that a node has changed."""

    def __init__(self) -> None:
        self.nodes: dict[int, NodeFacts] = {}
        self.devices: dict[int, DeviceFacts] = {}

    def forget(self, node_ids: Iterable[int]) -> None:
        for node in node_ids:
            self.nodes.pop(node, None)

    def lacks(self, node_ids: Iterable[int]) -> bool:
        return any(node not in self.nodes for node in node_ids)

    def learn(self, node_ids: Iterable[int]) -> None:
        """Reads the nodes that are not known. Two queries, or none."""
        missing = [node for node in set(node_ids) if node not in self.nodes]
        if not missing:
            return
        rows = Device.objects.filter(node_id__in=missing).values_list(
            "pk", "index", "uuid", "model__name", "model__vendor", "model__mig_family", "memory_mib"
        )
        for pk, index, uuid, model, vendor, family, memory in rows:
            self.devices[pk] = DeviceFacts(index, uuid, model, vendor, family, memory)
        for pk, name, site in Node.objects.filter(pk__in=missing).values_list("pk", "name", "site_id"):
            self.nodes[pk] = NodeFacts(name, site)
