"""What agents say about their own hardware, made true in the inventory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db import transaction

from console.audit.services import record_many
from console.common import clock
from console.common.actor import Actor, system
from console.common.errors import FieldError, InvalidInput
from pool.inventory import ports
from pool.inventory.importing import DeviceDraft, DomainDraft, NodeDraft
from pool.inventory.models import Device, Node, Site
from pool.inventory.services import ground, known, write
from pool.inventory.services.compare import DevicePlan, NodePlan, device_changes, is_placeholder, label_changes, retired
from pool.inventory.services.hardware import hardware_changed
from pool.inventory.services.known import Known, is_live
from pool.inventory.services.locks import lock_nodes
from pool.inventory.services.log import node_entry
from pool.inventory.services.reports import read_report

log = structlog.get_logger(__name__)
SWAPPED = "another card than before, while work held the old one"


@dataclass(frozen=True, slots=True)
class Joined:
    """`node_id`: primary key; `created` or `changed`: something was written."""

    node_id: int
    public_id: str
    created: bool
    changed: bool


def upsert_node_from_agent(report: dict[str, Any], *, site: Site, actor: Actor | None = None) -> Joined:
    """Makes the node as its agent reports it; a report that says nothing new costs five small reads.

    `report`: {"name", "cpu_milli", "memory_mib", "labels", "pod", "switch", "rack", "devices": [{"index", "uuid",
    "model", "memory_mib", "mig_enabled", "nvlink_island", "numa_node", "pci_address"}]}; MiB and 1/1000 core.
    `site` is that of the agent's join token. Where the operator's file said something about place or MIG mode,
    that stays; what the hardware is, the agent knows better. A card that is missing is retired until it is back.
    Work is never refused its ground: a card that is exchanged while something holds it is marked faulty, capacity
    below what is held is lowered later.
    Raises InvalidInput naming the field.
    """
    return upsert_nodes_from_agents([report], site=site, actor=actor)[0]


def upsert_nodes_from_agents(
    reports: Sequence[dict[str, Any]], *, site: Site, actor: Actor | None = None
) -> list[Joined]:
    """The same for many nodes of one site in one transaction: all or none."""
    return join_nodes(look_ahead(reports, site), actor)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What nodes of one site report, and what was known of them before the transaction that lets them join."""

    drafts: list[NodeDraft]
    have: Known

    def only(self, names: Collection[str]) -> "Ahead":
        return Ahead([draft for draft in self.drafts if draft.name in names], self.have)


def look_ahead(reports: Sequence[dict[str, Any]], site: Site) -> Ahead:
    """For `join_nodes`: most of the work, for which the database's lock need not be held. Raises InvalidInput."""
    drafts = [read_report(report, site.name) for report in reports]
    return Ahead(drafts, known.load(drafts))


def join_nodes(ahead: Ahead, actor: Actor | None = None) -> list[Joined]:
    """`upsert_nodes_from_agents` after `look_ahead`, in one transaction. A node that was made meanwhile by another
    is an IntegrityError."""
    with transaction.atomic():
        return _join(ahead.drafts, ahead.have, actor or system("gateway"))


def _join(drafts: list[NodeDraft], have: Known, actor: Actor) -> list[Joined]:
    entries = _ground(drafts, have)
    if entries:
        known.load_ground(have, drafts)
    plans = [_plan(draft, have) for draft in drafts]
    if known_ones := [plan.node.pk for plan in plans if plan.node and plan.is_change]:
        # they may be held by now: what changes is decided by what is so while they are locked
        lock_nodes(known_ones)
        have = known.load(drafts)
        plans = [_plan(draft, have) for draft in drafts]
    new = {id(plan) for plan in plans if plan.node is None}
    changed = [plan for plan in plans if plan.is_change]
    if changed:
        write.write(changed, have)
        hardware_changed()
        entries += [node_entry(plan, id(plan) in new) for plan in changed]
        ports.fleet_changed([plan.node.pk for plan in changed if plan.node])
    record_many(actor, entries)
    return [_joined(plan, id(plan) in new) for plan in plans]


def _joined(plan: NodePlan, created: bool) -> Joined:
    assert plan.node is not None
    return Joined(plan.node.pk, plan.node.public_id, created, plan.is_change)


def _ground(drafts: list[NodeDraft], have: Known) -> list[Any]:
    """Models and domains that nobody knows yet."""
    devices = [device for draft in drafts for device in draft.devices or ()]
    entries = []
    if any(device.model not in have.models for device in devices):
        entries += ground.ensure_models([], devices)
    missing: dict[tuple[str, str], DomainDraft] = {}
    for draft in drafts:
        site = have.sites[draft.site]
        for kind in ("pod", "switch", "rack"):
            name = getattr(draft, kind)
            if name and (site.pk, kind, name) not in have.domains:
                missing[kind, name] = DomainDraft(draft.site, kind, name, _parent(draft, kind))
    return entries + ground.ensure_domains(list(missing.values()))


def _parent(draft: NodeDraft, kind: str) -> tuple[str, str] | None:
    above = {"rack": ("switch", "pod"), "switch": ("pod",)}.get(kind, ())
    return next(((up, getattr(draft, up)) for up in above if getattr(draft, up)), None)


def _plan(draft: NodeDraft, have: Known) -> NodePlan:
    node = have.nodes.get(draft.name)
    plan = NodePlan(draft, node)
    slots = have.slots(node)
    _check_uuids(draft, have, node)
    if node is None:
        plan.new_devices = list(draft.devices or ())
        return plan
    if node.site.name != draft.site:
        message = f"{draft.name!r} belongs to site {node.site.name!r}; this token lets nodes of {draft.site!r} in"
        raise InvalidInput([FieldError("name", message)])
    _plan_facts(plan, node, have)
    for card in draft.devices or ():
        slot = slots.get(card.index)
        if slot is None:
            plan.new_devices.append(card)
        elif changes := _device_changes(slot, replace(card, mig_enabled=None)):
            plan.devices.append(DevicePlan(slot, changes))
    named = {device.index for device in draft.devices or ()}
    for index, device in slots.items():
        if index not in named and device.retired_at is None:
            plan.devices.append(DevicePlan(device, retired(device, clock.now())))
    return plan


def _plan_facts(plan: NodePlan, node: Node, have: Known) -> None:
    draft = plan.draft
    for name, used in (("cpu_milli", node.used_cpu_milli), ("memory_mib", node.used_memory_mib)):
        new = max(getattr(draft, name), used)
        if new != getattr(node, name):
            plan.changes[name] = (getattr(node, name), new)
        if new != getattr(draft, name):
            log.warning("node reports less than is held on it", node=draft.name, field=name, held=used)
    plan.changes |= label_changes(node.labels, draft.labels)
    for kind in ("pod", "switch", "rack"):
        name = getattr(draft, kind)
        if name and getattr(node, f"{kind}_id") is None:
            plan.changes[kind] = (None, have.domains[node.site_id, kind, name])


def _device_changes(device: Device, draft: DeviceDraft) -> dict[str, tuple[Any, Any]]:
    changes = device_changes(device, draft)
    if not is_live(device):
        return changes
    exchanged = "model" in changes or ("uuid" in changes and not is_placeholder(device.uuid))
    if exchanged or draft.memory_mib < device.used_memory_mib:
        return {} if device.state_reason == SWAPPED else _faulty(device, SWAPPED)
    return changes


def _faulty(device: Device, reason: str) -> dict[str, tuple[Any, Any]]:
    return {"state": (device.state, Device.State.FAULTY), "state_reason": (device.state_reason, reason)}


def _check_uuids(draft: NodeDraft, have: Known, node: Node | None) -> None:
    """A card of another node is not taken away from it on an agent's word."""
    for number, device in enumerate(draft.devices or ()):
        holder = have.holders.get(device.uuid or "")
        if holder is not None and (node is None or holder.node_id != node.pk):
            message = f"{device.uuid!r} is known as another node's card; import the fleet to move it"
            raise InvalidInput([FieldError(f"devices[{number}].uuid", message)])
