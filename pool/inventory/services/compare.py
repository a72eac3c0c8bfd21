"""Compares a drafted node with the known one. Writes nothing."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pool.inventory.importing import DeviceDraft, NodeDraft
from pool.inventory.models import Device, Domain, Node
from pool.inventory.services.known import Known, is_busy, is_live

Change = tuple[Any, Any]  # (before, after)
GONE = "no longer in the node"  # state_reason of a retired card; it ends when the card is back
_PLACE = ("site", "pod", "switch", "rack")
_CARD = ("uuid", "model", "mig_enabled")  # what must not change under live work
_DEVICE = ("nvlink_island", "numa_node", "pci_address")


@dataclass(slots=True)
class DevicePlan:
    device: Device
    changes: dict[str, Change] = field(default_factory=dict)


@dataclass(slots=True)
class NodePlan:
    """What has to be written so that the node is as drafted. `problems`: (where, message)."""

    draft: NodeDraft
    node: Node | None
    changes: dict[str, Change] = field(default_factory=dict)
    new_devices: list[DeviceDraft] = field(default_factory=list)
    devices: list[DevicePlan] = field(default_factory=list)
    removed: list[Device] = field(default_factory=list)
    links_changed: bool = False
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        moved = bool(self.changes or self.new_devices or self.devices or self.removed)
        return self.node is None or moved or self.links_changed


def plan_node(draft: NodeDraft, known: Known) -> NodePlan:
    """The plan of a file's node: the file decides, and what would pull hardware from under work is a problem."""
    node = known.nodes.get(draft.name)
    plan = NodePlan(draft, node)
    slots = known.slots(node)
    if node is None:
        plan.new_devices = list(draft.devices or ())
        plan.links_changed = bool(draft.links)
        return plan
    _compare_place(plan, node, known, slots)
    _compare_facts(plan, node)
    for device in draft.devices or ():
        slot = slots.get(device.index)
        if slot is None:
            plan.new_devices.append(device)
        else:
            _compare_device(plan, slot, device)
    if draft.devices is not None:
        _compare_missing(plan, slots)
    if draft.links is not None:
        _compare_links(plan, known)
    return plan


def place_of(draft: NodeDraft, known: Known) -> dict[str, Any]:
    """The rows that the draft's site, pod, switch and rack name; those not said are absent."""
    site = known.sites[draft.site]
    place: dict[str, Any] = {"site": site}
    for kind in _PLACE[1:]:
        name = getattr(draft, kind)
        if name is not None:
            place[kind] = known.domains[site.pk, kind, name]
    return place


def placeholder_uuid(node: str, index: int) -> str:
    """Stands for a card whose uuid nobody has told yet; the card's own replaces it."""
    return "inv-" + hashlib.sha256(f"{node}/{index}".encode()).hexdigest()[:24]


def is_placeholder(uuid: str) -> bool:
    return uuid.startswith(("inv-", "gone-"))


def _compare_place(plan: NodePlan, node: Node, known: Known, slots: dict[int, Device]) -> None:
    for kind, row in place_of(plan.draft, known).items():
        if getattr(node, f"{kind}_id") != row.pk:
            plan.changes[kind] = (getattr(node, kind), row)
    if plan.changes and is_busy(node, slots):
        moved = ", ".join(f"{kind} {_name(old)} to {_name(new)}" for kind, (old, new) in plan.changes.items())
        plan.problems.append((plan.draft.where, f"{node.name} would move ({moved}) while work runs on it; drain it"))


def _compare_facts(plan: NodePlan, node: Node) -> None:
    draft = plan.draft
    for name, used in (("cpu_milli", node.used_cpu_milli), ("memory_mib", node.used_memory_mib)):
        new = getattr(draft, name)
        if new != getattr(node, name):
            plan.changes[name] = (getattr(node, name), new)
        if new < used:
            message = f"{node.name} would shrink to {new} while {used} are held; stop that work first"
            plan.problems.append((f"{draft.where}.{name}", message))
    if draft.backend is not None and draft.backend != node.backend:
        plan.changes["backend"] = (node.backend, draft.backend)
    plan.changes |= label_changes(node.labels, draft.labels)


def label_changes(before: dict[str, str], said: dict[str, str] | None) -> dict[str, Change]:
    """Labels that a file or an agent names are set; others, which an operator or the other one gave, stay."""
    after = before | (said or {})
    return {} if after == before else {"labels": (before, after)}


def _compare_device(plan: NodePlan, device: Device, draft: DeviceDraft) -> None:
    changes = device_changes(device, draft)
    if not changes:
        return
    plan.devices.append(DevicePlan(device, changes))
    what = f"{plan.draft.name} device {device.index}"
    touched = [name for name in _CARD if name in changes]
    if "uuid" in touched and is_placeholder(device.uuid):
        touched.remove("uuid")  # the same card gets its real name
    if touched and is_live(device):
        message = f"{what}: {', '.join(touched)} would change while work runs on it; drain the node"
        plan.problems.append((draft.where, message))
    if draft.memory_mib < device.used_memory_mib:
        message = f"{what} would shrink to {draft.memory_mib} MiB while {device.used_memory_mib} MiB are held"
        plan.problems.append((draft.where, message))


def device_changes(device: Device, draft: DeviceDraft) -> dict[str, Change]:
    """Fields of a slot that differ from the draft; `model` by name."""
    changes: dict[str, Change] = {}
    if draft.uuid is not None and draft.uuid != device.uuid:
        changes["uuid"] = (device.uuid, draft.uuid)
    if draft.model != device.model.name:
        changes["model"] = (device.model.name, draft.model)
    if draft.memory_mib != device.memory_mib:
        changes["memory_mib"] = (device.memory_mib, draft.memory_mib)
    for name in ("mig_enabled", *_DEVICE):
        new = getattr(draft, name)
        if new is not None and new != getattr(device, name):
            changes[name] = (getattr(device, name), new)
    changes |= label_changes(device.labels, draft.labels)
    if device.retired_at is not None:
        changes["state"] = (device.state, Device.State.READY)
        changes["state_reason"] = (device.state_reason, "")
        changes["retired_at"] = (device.retired_at, None)
    return changes


def retired(device: Device, at: datetime) -> dict[str, Change]:
    """What changes of a card that is not in its node any more. It takes no work, and is no capacity from now on."""
    return {
        "state": (device.state, Device.State.FAULTY),
        "state_reason": (device.state_reason, GONE),
        "retired_at": (None, at),
    }


def _compare_missing(plan: NodePlan, slots: dict[int, Device]) -> None:
    named = {device.index for device in plan.draft.devices or ()}
    for index, device in sorted(slots.items()):
        if index in named or device.retired_at is not None:
            continue
        plan.removed.append(device)
        if is_live(device):
            message = f"device {index} of {plan.draft.name} would go while work runs on it; drain the node"
            plan.problems.append((plan.draft.where, message))


def _compare_links(plan: NodePlan, known: Known) -> None:
    now = known.links.get(plan.node.pk, {}) if plan.node else {}
    have = {ends: (link.kind, link.bandwidth_gbs) for ends, link in now.items()}
    want = {(link.a, link.b): (link.kind, link.bandwidth_gbs) for link in plan.draft.links or ()}
    plan.links_changed = have != want


def _name(row: Domain | Any) -> str:
    return row.name if row is not None else "none"
