"""Writes plans: in bulk for what is new, one guarded UPDATE for each row that changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q

from console.common import bulk, clock
from console.common.errors import Conflict
from pool.inventory.importing import DeviceDraft, NodeDraft
from pool.inventory.models import Device, Link, Node
from pool.inventory.services.compare import NodePlan, place_of, placeholder_uuid, retired
from pool.inventory.services.history import remember
from pool.inventory.services.known import Known

_BATCH = 500
_PLACE = {"site", "pod", "switch", "rack"}
_CARD = {"model", "mig_enabled"}


def write(plans: Sequence[NodePlan], known: Known) -> None:
    """Carries plans out, inside the caller's transaction.

    Raises Conflict when work was placed meanwhile on hardware that would move or change.
    """
    new = [plan for plan in plans if plan.node is None]
    _create_nodes(new, known)
    created, at = {plan.node.pk: plan.node.created_at for plan in new if plan.node}, clock.now()
    for plan in plans:
        _update_node(plan)
        for gone in plan.removed:
            _remove(gone, at)
    _free_uuids(plans)
    for plan in plans:
        for device in plan.devices:
            _update_device(plan, device.device, device.changes, known)
    _create_devices(plans, known, created, at)
    for plan in plans:
        if plan.links_changed:
            _write_links(plan)
    _remember(created, plans, at)


def _remember(created: Mapping[int, datetime], plans: Sequence[NodePlan], at: datetime) -> None:
    """A new node is out of reach from the moment of its creation until its agent has reported."""
    touched = [row.device.pk for plan in plans for row in plan.devices if "state" in row.changes]
    touched += [device.pk for plan in plans for device in plan.removed]
    remember(at, nodes=created, devices=touched, since=created)


def _create_nodes(plans: Sequence[NodePlan], known: Known) -> None:
    rows = [_node(plan.draft, known) for plan in plans]
    for plan, row in zip(plans, Node.objects.bulk_create(rows, batch_size=_BATCH), strict=True):
        plan.node = row


def _node(draft: NodeDraft, known: Known) -> Node:
    return Node(
        name=draft.name,
        cpu_milli=draft.cpu_milli,
        memory_mib=draft.memory_mib,
        labels=draft.labels or {},
        backend=draft.backend or "agent",
        **place_of(draft, known),
    )


def _update_node(plan: NodePlan) -> None:
    if not plan.changes or plan.node is None:
        return
    rows = Node.objects.filter(pk=plan.node.pk)
    if _PLACE & plan.changes.keys():
        rows = rows.filter(used_cpu_milli=0, used_memory_mib=0).exclude(
            pk__in=Device.objects.filter(~Q(live_shared=0) | ~Q(live_mig=0)).values("node")
        )
    if not rows.update(**{name: new for name, (_, new) in plan.changes.items()}):
        raise Conflict(f"work was placed on {plan.node.name} meanwhile; drain it and try again")


def _free_uuids(plans: Sequence[NodePlan]) -> None:
    # cards that change places would otherwise meet the unique constraint half-way
    swapped = [d.device for plan in plans for d in plan.devices if "uuid" in d.changes]
    for device in swapped:
        Device.objects.filter(pk=device.pk).update(uuid=f"tmp-{device.public_id}")


def _update_device(plan: NodePlan, device: Device, changes: dict[str, tuple[Any, Any]], known: Known) -> None:
    values = {name: new for name, (_, new) in changes.items()}
    if "model" in values:
        values["model"] = known.models[values["model"]]
    rows = Device.objects.filter(pk=device.pk)
    if _CARD & values.keys():
        rows = rows.filter(live_shared=0, live_mig=0)
    if not rows.update(**values):
        raise Conflict(f"work was placed on {plan.draft.name} device {device.index} meanwhile; try again")


def _remove(device: Device, at: datetime) -> None:
    """The card's row stays, retired, and its uuid is free for another slot."""
    rows = Device.objects.filter(pk=device.pk, live_shared=0, live_mig=0)
    values = {name: new for name, (_, new) in retired(device, at).items()}
    if not rows.update(uuid=f"gone-{device.public_id}", **values):
        raise Conflict(f"work was placed on device {device.index} meanwhile; drain its node and try again")


def _create_devices(plans: Sequence[NodePlan], known: Known, created: Mapping[int, datetime], at: datetime) -> None:
    """Those of a new node are there since the node is, the others from now on."""
    rows = [
        _device(plan.node, draft, known, created.get(plan.node.pk, at))
        for plan in plans
        if plan.node
        for draft in plan.new_devices
    ]
    bulk.insert(rows)


def _device(node: Node, draft: DeviceDraft, known: Known, at: datetime) -> Device:
    return bulk.new(
        Device,
        node=node,
        index=draft.index,
        uuid=draft.uuid or placeholder_uuid(node.name, draft.index),
        model_id=known.models[draft.model].pk,
        memory_mib=draft.memory_mib,
        mig_enabled=bool(draft.mig_enabled),
        nvlink_island=-1 if draft.nvlink_island is None else draft.nvlink_island,
        numa_node=-1 if draft.numa_node is None else draft.numa_node,
        pci_address=draft.pci_address or "",
        labels=draft.labels or {},
        added_at=at,
    )


def _write_links(plan: NodePlan) -> None:
    assert plan.node is not None
    ids = dict(Device.objects.filter(node=plan.node).values_list("index", "pk"))
    Link.objects.filter(a__node=plan.node).delete()
    rows = []
    for link in plan.draft.links or ():
        a, b = sorted((ids[link.a], ids[link.b]))
        rows.append(Link(a_id=a, b_id=b, kind=link.kind, bandwidth_gbs=link.bandwidth_gbs))
    Link.objects.bulk_create(rows, batch_size=_BATCH)
