"""Facts about devices and nodes that placements are written with, remembered between commits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from console.common import sql


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
    """Read with the fleet and after each change of a node's description, so that no placement waits for them."""

    def __init__(self) -> None:
        self.nodes: dict[int, NodeFacts] = {}
        self.devices: dict[int, DeviceFacts] = {}

    def renew(self, node_ids: Iterable[int]) -> None:
        """Reads these nodes anew. Two queries, or none."""
        nodes = list(node_ids)
        if nodes:
            self._read(*sql.among("n.id", nodes))

    def read_all(self) -> None:
        self._read("1 = 1", [])

    def learn(self, node_ids: Iterable[int]) -> None:
        """Reads the nodes that are not known."""
        self.renew({node for node in node_ids if node not in self.nodes})

    def lacks(self, node_ids: Iterable[int]) -> bool:
        return any(node not in self.nodes for node in node_ids)

    def _read(self, where: str, values: list[Any]) -> None:
        for pk, *device in sql.fetch(_DEVICES.format(where=where), *values):
            self.devices[pk] = DeviceFacts(*device)
        for pk, *node in sql.fetch(_NODES.format(where=where), *values):
            self.nodes[pk] = NodeFacts(*node)


_NODES = "SELECT n.id, n.name, n.site_id FROM inventory_node n WHERE {where}"
_DEVICES = (
    'SELECT d.id, d."index", d.uuid, m.name, m.vendor, m.mig_family, d.memory_mib FROM inventory_device d'
    " JOIN inventory_devicemodel m ON m.id = d.model_id JOIN inventory_node n ON n.id = d.node_id WHERE {where}"
)
