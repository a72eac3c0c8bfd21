"""Who may see the telemetry of a card. A tenant only while it holds the whole of it.

The load of a shared card tells what the neighbours do, and whether there are any: a tenant that holds a part sees
its own numbers in its own job, not the card's.
"""

from collections.abc import Iterable
from datetime import datetime

from console.common.actor import Actor
from pool.inventory import queries as inventory
from pool.inventory.models import Device
from pool.nodes.readings import Reading, readings

WHOLE = 10_000


def sees_telemetry(actor: Actor, device: Device) -> bool:
    """`device` comes from inventory.queries, which counts what the actor's tenants hold as `held_bp`."""
    return actor.sees_all_work or getattr(device, "held_bp", 0) >= WHOLE


def readings_for(actor: Actor, devices: Iterable[Device]) -> dict[int, Reading]:
    return readings(device for device in devices if sees_telemetry(actor, device))


def history_from(actor: Actor, device: Device, earliest: datetime) -> datetime | None:
    """From when on the history may be shown; None: not at all."""
    if actor.sees_all_work:
        return earliest
    if not sees_telemetry(actor, device):
        return None
    # whole since the last of the parts was taken: before that a neighbour may have been there
    taken: list[datetime] = [row.created_at for row in inventory.running_on_device(actor, device)]
    return max([earliest, *taken])
