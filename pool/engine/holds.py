"""Taking a part of a card and giving it back, on the arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pool.engine import state as s
from pool.engine.mig import mask
from pool.engine.state import State
from pool.engine.types import Hold, ReplicaPlacement

if TYPE_CHECKING:
    from pool.engine.affinity import Affinity
    from pool.engine.selectors import Labels


class Oversold(ValueError):
    """A hold that would use some part of a card or node twice. Nothing was changed."""


_USE = {"exclusive": s.WHOLE_CARD, "vgpu": s.SHARED, "mig": s.CUT}


def use_of(hold: Hold) -> int:
    """The use that a hold puts a card to. ValueError for an isolation no hold can have."""
    if hold.isolation not in _USE:
        raise ValueError(f"isolation: a hold is exclusive, mig or vgpu, not {hold.isolation!r}")
    return _USE[hold.isolation]


def trust_name(tenant: str, trust_group: str) -> str:
    """Tenants of one trust group may share a card; a tenant without a group trusts nobody."""
    return f"group:{trust_group}" if trust_group else f"tenant:{tenant}"


def check_device(state: State, row: int, column: int, hold: Hold, trust: int, mig_mode: bool) -> None:
    """Raise :class:`Oversold` if the card cannot take this hold besides those it has, or not in
    the mode that it is in."""
    cell = state.device[:, row, column]
    use, now = use_of(hold), int(cell[s.USE])
    name = f"device {hold.device_key}"
    if mig_mode != (use == s.CUT):
        raise Oversold(f"{name}: a card {'in' if mig_mode else 'out of'} MIG mode takes no {hold.isolation} hold")
    if now not in (s.IDLE, use) or now in (s.WHOLE_CARD, s.MIXED):
        raise Oversold(f"{name}: a card in other use takes no {hold.isolation} hold")
    if hold.share_bp > cell[s.SHARE]:
        raise Oversold(f"{name}: {hold.share_bp} bp asked, {cell[s.SHARE]} bp free")
    if hold.memory_mib > cell[s.MEMORY]:
        raise Oversold(f"{name}: {hold.memory_mib} MiB asked, {cell[s.MEMORY]} MiB free")
    if use == s.SHARED and now == s.SHARED and cell[s.TRUST] != trust:
        raise Oversold(f"{name}: shared by a tenant of another trust group")
    if use == s.CUT and int(cell[s.SLICES]) & mask(hold.mig_start, hold.mig_size):
        raise Oversold(f"{name}: MIG slices {hold.mig_start}+{hold.mig_size} are taken")


def check_node(state: State, row: int, hold: Hold) -> None:
    """Raise :class:`Oversold` if the node lacks the CPU or memory."""
    if hold.cpu_milli > max(state.node[s.CPU, row], 0):
        raise Oversold(f"node {hold.node_key}: {hold.cpu_milli} milli CPU asked, too few free")
    if hold.host_memory_mib > max(state.node[s.HOST, row], 0):
        raise Oversold(f"node {hold.node_key}: {hold.host_memory_mib} MiB asked, too few free")


def take_device(state: State, row: int, column: int, hold: Hold, trust: int, mig_mode: bool) -> None:
    """Write a hold. Holds that contradict each other or the card's mode (only from outside) close it."""
    cell = state.device[:, row, column]
    use, now = use_of(hold), int(cell[s.USE])
    strangers = use == s.SHARED and now == s.SHARED and cell[s.TRUST] != trust
    contradicts = strangers or now not in (s.IDLE, use) or mig_mode != (use == s.CUT)
    cell[s.USE] = s.MIXED if contradicts else use
    cell[s.SHARE] -= hold.share_bp
    cell[s.MEMORY] -= hold.memory_mib
    cell[s.HELD] += 1
    if use == s.SHARED:
        cell[s.TRUST] = trust
    if use == s.CUT and mig_mode:
        cell[s.SLICES] |= mask(hold.mig_start, hold.mig_size)
        cell[s.MEDIA] += "+me" in hold.mig_profile


def give_device(state: State, row: int, column: int, hold: Hold, mig_mode: bool) -> None:
    """Undo :func:`take_device`. ValueError if the card has no hold at all."""
    cell = state.device[:, row, column]
    if cell[s.HELD] <= 0:
        raise ValueError(f"device {hold.device_key}: nothing is held, so nothing can be released")
    cell[s.SHARE] += hold.share_bp
    cell[s.MEMORY] += hold.memory_mib
    cell[s.HELD] -= 1
    if hold.isolation == "mig" and mig_mode:
        cell[s.SLICES] &= ~mask(hold.mig_start, hold.mig_size)
        cell[s.MEDIA] -= "+me" in hold.mig_profile
    if cell[s.HELD] == 0:
        cell[s.USE] = s.IDLE
        cell[s.TRUST] = 0


def take_node(state: State, row: int, hold: Hold, sign: int = 1) -> None:
    """Take (or with ``sign`` -1 give back) a hold's CPU and memory."""
    state.node[s.CPU, row] -= sign * hold.cpu_milli
    state.node[s.HOST, row] -= sign * hold.host_memory_mib


def holds_of(
    replicas: Sequence[ReplicaPlacement],
    tenant: str,
    trust_group: str,
    labels: Labels = (),
    repels: tuple[Affinity, ...] = (),
) -> Iterator[Hold]:
    """The holds of placed replicas: one a device part, and one for CPU and memory if asked.
    ``labels`` and ``repels``: of the job, where it has any (:func:`~pool.engine.neighbours.repels_of`);
    CPU and memory beside devices carry none, so that whoever stores them as one hold counts alike."""
    for replica in replicas:
        for part in replica.devices:
            yield Hold(
                device_key=part.device_key,
                node_key=replica.node_key,
                share_bp=part.share_bp,
                memory_mib=part.memory_mib,
                isolation=part.isolation,
                mig_profile=part.mig_profile,
                mig_start=part.mig_start,
                mig_size=part.mig_size,
                tenant=tenant,
                trust_group=trust_group,
                cpu_milli=0,
                host_memory_mib=0,
                labels=labels,
                repels=repels,
            )
        if replica.cpu_milli or replica.host_memory_mib:
            yield Hold(
                device_key=None,
                node_key=replica.node_key,
                share_bp=0,
                memory_mib=0,
                isolation="",
                mig_profile="",
                mig_start=-1,
                mig_size=0,
                tenant=tenant,
                trust_group=trust_group,
                cpu_milli=replica.cpu_milli,
                host_memory_mib=replica.host_memory_mib,
                labels=() if replica.devices else labels,
                repels=() if replica.devices else repels,
            )
