"""What the replicas of a job hold: like slices of one replica together, and how its devices are linked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from django.utils.translation import gettext as _

from console.common.actor import Actor
from pool.inventory.models import Device, Link
from pool.scheduling import queries
from pool.scheduling.models import Allocation, Replica

_NAMES = {"nvlink": "NVLink", "pcie": "PCIe"}


@dataclass(frozen=True, slots=True)
class Group:
    """Slices that differ only by device. `first` stands for all in what it says of share, memory, isolation."""

    first: Allocation
    devices: list[Device]


@dataclass(frozen=True, slots=True)
class Member:
    """A replica. `linked`: "all by NVLink", or the pairs that are."""

    replica: Replica
    groups: list[Group]
    linked: str


def members(actor: Actor, replicas: Sequence[Replica]) -> list[Member]:
    """Two queries: slices, and links between the devices of each replica."""
    held: dict[int, list[Allocation]] = {}
    rows = queries.allocations_for(actor).filter(replica__in=replicas, device__isnull=False)
    for allocation in rows.order_by("replica_id", "device__index", "mig_start"):
        held.setdefault(allocation.replica_id, []).append(allocation)
    links = _links(slice_.device_id for group in held.values() for slice_ in group)
    return [_member(replica, held.get(replica.pk, []), links) for replica in replicas]


def _member(replica: Replica, held: list[Allocation], links: dict[tuple[int, int], str]) -> Member:
    grouped: dict[tuple[object, ...], list[Allocation]] = {}
    for one in held:
        key = (one.device and one.device.model_id, one.isolation, one.share_bp, one.memory_mib, one.mig_profile)
        # two slices of one device are two lines: each has its own place on it
        grouped.setdefault((*key, one.mig_start), []).append(one)
    groups = [Group(group[0], [one.device for one in group if one.device]) for group in grouped.values()]
    return Member(replica, groups, _linked({one.device.pk: one.device for one in held if one.device}, links))


def _links(device_ids: Iterable[int | None]) -> dict[tuple[int, int], str]:
    known = {pk for pk in device_ids if pk is not None}
    if len(known) < 2:
        return {}
    rows = Link.objects.filter(a_id__in=known, b_id__in=known).values_list("a_id", "b_id", "kind")
    return {(a, b): kind for a, b, kind in rows}


def _linked(devices: dict[int, Device], links: dict[tuple[int, int], str]) -> str:
    pairs = list(combinations(sorted(devices), 2))
    by_kind: dict[str, list[tuple[int, int]]] = {}
    for a, b in pairs:
        kind = links.get((a, b)) or _island(devices[a], devices[b])
        if kind:
            by_kind.setdefault(kind, []).append((devices[a].index, devices[b].index))
    return "; ".join(_say(kind, found, len(pairs)) for kind, found in sorted(by_kind.items()))


def _island(a: Device, b: Device) -> str:
    return "nvlink" if a.nvlink_island >= 0 and a.nvlink_island == b.nvlink_island else ""


def _say(kind: str, found: list[tuple[int, int]], pairs: int) -> str:
    name = _NAMES.get(kind, kind)
    if len(found) == pairs:
        return _("all linked by %(kind)s") % {"kind": name}
    return f"{name} " + ", ".join(f"{a}–{b}" for a, b in found)
