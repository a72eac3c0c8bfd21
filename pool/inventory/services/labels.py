"""Labels of nodes and cards: what requests choose cards by (gpu_selector)."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from console.audit.services import record
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from pool.inventory import ports
from pool.inventory.models import Device, Node
from pool.inventory.services.hardware import hardware_changed
from pool.inventory.services.locks import lock_nodes

MOST: Final = 64
LONGEST_KEY: Final = 63
LONGEST_VALUE: Final = 200
KEPT: Final = "address"  # where a node answers: its agent's word, and no property of its cards

Row = TypeVar("Row", Node, Device)


def set_node_labels(actor: Actor, node: Node, labels: Mapping[str, Any]) -> Node:
    """All labels of a node, in place of those it had; where it answers stays. They hold for all its cards.

    Raises NotAllowed for anyone but an operator, InvalidInput naming the label. What runs there is not touched.
    """
    wanted = {key: value for key, value in checked(actor, labels).items() if key != KEPT}
    if KEPT in node.labels:
        wanted[KEPT] = node.labels[KEPT]
    _set(actor, "node.labels", node, node.pk, wanted)
    return Node.objects.get(pk=node.pk)


def set_device_labels(actor: Actor, device: Device, labels: Mapping[str, Any]) -> Device:
    """All labels of one card, in place of those it had; they go before its node's."""
    _set(actor, "device.labels", device, device.node_id, checked(actor, labels))
    return Device.objects.select_related("node", "model").get(pk=device.pk)


def checked(actor: Actor, labels: Mapping[str, Any]) -> dict[str, str]:
    """The labels, if this actor may set them and all are well formed."""
    if not actor.is_operator:
        raise NotAllowed(_("only an operator may label hardware"))
    if len(labels) > MOST:
        raise InvalidInput([FieldError("labels", _("must be at most %(most)s") % {"most": MOST})])
    errors = [error for key, value in labels.items() if (error := _fault(key, value))]
    if errors:
        raise InvalidInput(errors)
    return dict(labels)


def _fault(key: Any, value: Any) -> FieldError | None:
    if (
        not isinstance(key, str)
        or not 0 < len(key.strip()) <= LONGEST_KEY
        or key != key.strip()
        or not key.isprintable()
    ):
        text = _("must have a name of 1 to %(longest)s printable characters") % {"longest": LONGEST_KEY}
        return FieldError(f"labels.{str(key)[:40]}", text)
    if not isinstance(value, str) or len(value) > LONGEST_VALUE or not value.isprintable():
        text = _("must be text of at most %(longest)s printable characters") % {"longest": LONGEST_VALUE}
        return FieldError(f"labels.{key}", text)
    return None


def _set(actor: Actor, action: str, row: Row, node_id: int, wanted: dict[str, str]) -> None:
    model = type(row)
    with transaction.atomic():
        lock_nodes([node_id])
        before = model._default_manager.values_list("labels", flat=True).get(pk=row.pk)
        if before == wanted:
            return
        model._default_manager.filter(pk=row.pk).update(labels=wanted)
        hardware_changed()
        record(actor, action, row, before={"labels": before}, after={"labels": wanted})
        ports.fleet_changed([node_id])
