"""A fault that an agent reports takes that device out of the pool, and no other; its end puts it back."""

from collections.abc import Collection

from django.db import transaction

from console.common.actor import system
from pool.inventory.models import Device
from pool.inventory.services import set_device_state

FAULT = "reported faulty by its agent"


def nodes_with_faults(node_ids: Collection[int]) -> set[int]:
    """Those of the nodes that have a device which an agent reported faulty."""
    devices = Device.objects.filter(node_id__in=list(node_ids), state=Device.State.FAULTY, state_reason=FAULT)
    return set(devices.values_list("node_id", flat=True))


def set_faults(node_id: int, faulty: Collection[int]) -> int:
    """`faulty`: indexes of all devices that the agent flags now. Level-triggered; returns how many changed.

    A device that an operator cordoned, or that is faulty for another reason, keeps that state.
    """
    actor = system("node control")
    devices = Device.objects.filter(node_id=node_id)
    changed = 0
    with transaction.atomic():
        for device in devices.filter(index__in=list(faulty), state=Device.State.READY):
            set_device_state(actor, device, Device.State.FAULTY, FAULT)
            changed += 1
        mended = devices.filter(state=Device.State.FAULTY, state_reason=FAULT).exclude(index__in=list(faulty))
        for device in mended:
            set_device_state(actor, device, Device.State.READY)
            changed += 1
    return changed
