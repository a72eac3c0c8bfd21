"""Cordon, drain, faults and MIG mode: what an operator or a health check says about a node or a card."""

from typing import Any

from django.db import transaction
from django.db.models import Model

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from pool.engine.mig_tables import FAMILIES
from pool.inventory import ports, queries
from pool.inventory.models import Device, Node
from pool.inventory.services.hardware import hardware_changed
from pool.inventory.services.history import remember
from pool.inventory.services.locks import lock_nodes

_SHOWN = 20


def set_node_state(actor: Actor, node: Node, state: str, reason: str = "") -> Node:
    """Ready, cordoned (no new work) or draining (no new work, and it is to become empty). Same state: no change.

    Raises NotAllowed for anyone but an operator, InvalidInput for a state that no node has.
    """
    _check(actor, Node.State, state)
    with transaction.atomic():
        before = Node.objects.get(pk=node.pk)
        if before.state != state:
            Node.objects.filter(pk=node.pk).update(state=state)
            remember(clock.now(), nodes=[node.pk])
            _tell(actor, "node.state", node, {"state": before.state}, {"state": state, "reason": reason}, node.pk)
    return Node.objects.get(pk=node.pk)


def set_device_state(actor: Actor, device: Device, state: str, reason: str = "") -> Device:
    """Ready (clears a fault), cordoned, or faulty with its reason, which is required then.

    Raises NotAllowed, InvalidInput, Conflict for a card that is not in its node any more. What runs on the card is
    not touched: it takes no new work.
    """
    _check(actor, Device.State, state)
    reason = " ".join(reason.split())[:200]
    if state == Device.State.FAULTY and not reason:
        raise InvalidInput([FieldError("reason", "is missing; say what is wrong with the card")])
    if state == Device.State.READY:
        reason = ""
    with transaction.atomic():
        lock_nodes([device.node_id])
        before = _again(device)
        if before.retired_at is not None:
            raise Conflict("the card is no longer in the node; it is ready when the node reports it again")
        if (before.state, before.state_reason) != (state, reason):
            if not Device.objects.filter(pk=device.pk, retired_at=None).update(state=state, state_reason=reason):
                raise Conflict("the card has just left the node")
            remember(clock.now(), devices=[device.pk])
            old = {"state": before.state, "reason": before.state_reason}
            _tell(actor, "device.state", device, old, {"state": state, "reason": reason}, before.node_id)
    return _again(device)


def set_mig_enabled(actor: Actor, device: Device, enabled: bool) -> Device:
    """Switches whether a card is cut by MIG; only while nothing runs on it.

    Raises NotAllowed, InvalidInput for a model without MIG, Conflict naming what runs on the card.
    """
    if not actor.is_operator:
        raise NotAllowed("only an operator may switch MIG")
    with transaction.atomic():
        lock_nodes([device.node_id])
        before = _again(device)
        if enabled and before.model.mig_family not in FAMILIES:
            raise InvalidInput([FieldError("mig_enabled", f"{before.model.name} has no MIG")])
        if before.mig_enabled == enabled:
            return before
        # the guard, not the read before it, is what holds against work placed at this moment
        free = Device.objects.filter(pk=device.pk, live_shared=0, live_mig=0)
        if not free.update(mig_enabled=enabled):
            raise Conflict(_in_use(actor, device), code="device_in_use")
        hardware_changed()
        _tell(actor, "device.mig", device, {"mig_enabled": not enabled}, {"mig_enabled": enabled}, before.node_id)
    return _again(device)


def _in_use(actor: Actor, device: Device) -> str:
    running = list(queries.running_on_device(actor, device)[: _SHOWN + 1])
    jobs = ", ".join(f"{row.job.name} ({row.job.public_id})" for row in running[:_SHOWN])
    more = " and more" if len(running) > _SHOWN else ""
    return f"MIG can be switched only while nothing runs on the card; it holds {jobs}{more}"


def _check(actor: Actor, states: Any, state: str) -> None:
    if not actor.is_operator:
        raise NotAllowed("only an operator may change the state of hardware")
    if state not in states.values:
        raise InvalidInput([FieldError("state", f"{state[:40]!r} is not one of {', '.join(states.values)}")])


def _again(device: Device) -> Device:
    return Device.objects.select_related("node", "model").get(pk=device.pk)


def _tell(actor: Actor, action: str, row: Model, before: dict[str, Any], after: dict[str, Any], node_id: int) -> None:
    record(actor, action, row, before=before, after=after)
    ports.fleet_changed([node_id])
