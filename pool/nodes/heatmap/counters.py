"""What the database says of each device, in layout order; only nodes whose version rose are read again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from console.tenants.models import Tenant
from pool.inventory.models import Device, Node
from pool.nodes.heatmap import codec
from pool.nodes.heatmap.layout import Layout
from pool.scheduling.models import Allocation

_CHUNK = 500  # rows named in one query: SQLite takes at most 32,766 variables


class FleetChanged(Exception):
    """A node has devices that the layout does not know: read the layout again."""


class Counters:
    """`share` in basis points, `marks` bits of codec.MARK_*, `tenant` as codec describes it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.share: NDArray[np.int64] = np.zeros(layout.devices, dtype=np.int64)
        self.marks: NDArray[np.uint8] = np.zeros(layout.devices, dtype=np.uint8)
        self.tenant: NDArray[np.uint16] = np.zeros(layout.devices, dtype=np.uint16)
        self.tenants: dict[int, int] = {}  # primary key -> 1 + row of the tenant table
        self._versions: dict[int, int] = {}

    def refresh(self) -> None:
        """One query when nothing changed. Raises FleetChanged when the layout is out of date."""
        rows = list(Node.objects.values_list("pk", "version", "state", "reachable"))
        if len(rows) != len(self.layout.node_ids):
            raise FleetChanged
        changed = {}
        for pk, version, state, reachable in rows:
            if pk not in self.layout.node_row:
                raise FleetChanged
            if self._versions.get(pk) != version:
                changed[pk] = _node_mark(state, reachable)
        if not changed:
            return
        self._read_devices(changed)
        self._read_tenants(list(changed))
        # only now: a refusal half-way reads the same nodes again
        self._versions.update({pk: version for pk, version, _, _ in rows if pk in changed})

    def _read_devices(self, changed: dict[int, int]) -> None:
        fields = ("pk", "node_id", "used_share_bp", "state", "mig_enabled")
        seen = 0
        for chunk in _chunks(list(changed)):
            devices = Device.objects.filter(node_id__in=chunk, retired_at=None)
            for pk, node_id, share, state, mig in devices.values_list(*fields):
                at = self.layout.position.get(pk)
                if at is None:
                    raise FleetChanged
                seen += 1
                self.share[at] = share
                self.marks[at] = changed[node_id] | _DEVICE_MARKS.get(state, 0) | (codec.MARK_MIG if mig else 0)
        if seen != int(self.layout.count[[self.layout.node_row[pk] for pk in changed]].sum()):
            raise FleetChanged

    def _read_tenants(self, nodes: list[int]) -> None:
        holders: dict[int, set[int]] = defaultdict(set)
        live = Allocation.objects.filter(released_at__isnull=True, device__isnull=False)
        for chunk in _chunks(nodes):
            for device, tenant in live.filter(node_id__in=chunk).values_list("device_id", "tenant_id"):
                holders[device].add(tenant)
        if any(tenant not in self.tenants for held in holders.values() for tenant in held):
            self.tenants = {pk: row for row, pk in enumerate(tenant_order(), start=1)}
        for node in nodes:
            row = self.layout.node_row[node]
            start = int(self.layout.first[row])
            self.tenant[start : start + int(self.layout.count[row])] = 0
        for device, held in holders.items():
            at = self.layout.position.get(device)
            if at is not None:
                self.tenant[at] = codec.SEVERAL if len(held) > 1 else self.tenants.get(min(held), 0)


def tenant_order() -> Iterable[int]:
    """The tenant table: primary keys in order of age, so that a new tenant only adds a row."""
    return Tenant.objects.order_by("pk").values_list("pk", flat=True)


_DEVICE_MARKS = {Device.State.FAULTY: codec.MARK_FAULT, Device.State.CORDONED: codec.MARK_CORDON}
_NODE_MARKS = {Node.State.CORDONED: codec.MARK_CORDON, Node.State.DRAINING: codec.MARK_DRAIN}


def _node_mark(state: str, reachable: bool) -> int:
    return _NODE_MARKS.get(Node.State(state), 0) | (0 if reachable else codec.MARK_UNREACHABLE)


def _chunks(items: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]
