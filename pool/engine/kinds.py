"""Kinds of device: cards that no request can tell apart when they are empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pool.engine.mig_tables import FAMILIES, Family, Profile
from pool.engine.types import WHOLE, DeviceSpec, ReplicaRequest


@dataclass(frozen=True, slots=True)
class Kind:
    """What a request can ask of a card besides what is free on it."""

    model: str
    memory_mib: int
    mig_family: str
    mig_enabled: bool
    vendor: str = ""

    @property
    def family(self) -> Family | None:
        """The MIG family, if this kind of card may be cut: it is one that can be, and in MIG mode."""
        return FAMILIES.get(self.mig_family) if self.mig_enabled else None

    @property
    def plain(self) -> bool:
        """Whether whole cards and soft shares can run on it. On a card in MIG mode a process sees
        instances only, so it has neither to give."""
        return not self.mig_enabled

    @property
    def uncut(self) -> bool:
        """Whether only its mode keeps MIG slices off it."""
        return not self.mig_enabled and self.mig_family in FAMILIES


PAD = Kind("", 1, "", False)  # fills the array behind a node's last device


class Kinds:
    """Gives each kind a small number. Number 0 is padding."""

    def __init__(self) -> None:
        self.all: list[Kind] = [PAD]
        self._number: dict[Kind, int] = {PAD: 0}
        self.memory: NDArray[np.int64] = np.ones(1, dtype=np.int64)
        self.cuttable: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.plain: NDArray[np.int64] = np.ones(1, dtype=np.int64)
        self.uncut: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.memories, self.plains = [1], [1]  # memory and plain as plain numbers

    def add(self, devices: Iterable[DeviceSpec]) -> bool:
        """Number the kinds of these devices; True if one of them was new."""
        before = len(self.all)
        for device in devices:
            kind = kind_of(device)
            if kind not in self._number:
                self._number[kind] = len(self.all)
                self.all.append(kind)
        if len(self.all) == before:
            return False
        self.memory = np.array([kind.memory_mib for kind in self.all], dtype=np.int64)
        self.cuttable = np.array([kind.family is not None for kind in self.all], dtype=np.int64)
        self.plain = np.array([kind.plain for kind in self.all], dtype=np.int64)
        self.uncut = np.array([kind.uncut for kind in self.all], dtype=np.int64)
        self.memories, self.plains = self.memory.tolist(), self.plain.tolist()
        return True

    def number(self, device: DeviceSpec) -> int:
        """The number of a device's kind."""
        return self._number[kind_of(device)]


def kind_of(device: DeviceSpec) -> Kind:
    """The kind of a device."""
    return Kind(device.model, device.memory_mib, device.mig_family, device.mig_enabled, device.vendor)


def allows(request: ReplicaRequest, kind: Kind) -> bool:
    """Whether the request accepts cards of this model and vendor."""
    if kind is PAD or (request.models and kind.model not in request.models):
        return False
    if request.vendors and kind.vendor not in request.vendors:
        return False
    return not request.preference or kind.model in request.preference or kind.vendor in request.preference


def shared_memory(request: ReplicaRequest, entry: int, kind: Kind) -> int:
    """MiB that device ``entry`` of a vgpu request takes on a card of this kind."""
    asked = asked_memory(request, entry)
    return kind.memory_mib * request.share_bp // WHOLE if asked is None else asked


def asked_memory(request: ReplicaRequest, entry: int) -> int | None:
    """The MiB written in the request for device ``entry``; None: as much as its share."""
    if not request.memory_mib:
        return None
    return request.memory_mib[entry if len(request.memory_mib) > 1 else 0]


def profile_for(request: ReplicaRequest, entry: int, kind: Kind) -> int:
    """Index of the MIG profile that device ``entry`` gets on this kind of card; -1: none.

    The named profile, or the smallest plain one that holds share and memory. A name's nominal
    memory counts as held (1g.5gb holds a request of 5 120 MiB though the slice has 4 864).
    """
    family = kind.family
    if family is None:
        return -1
    fitting = [
        (profile.units, profile.compute_slices, index)
        for index, profile in enumerate(family.profiles)
        if _holds(request, entry, kind, family, profile)
    ]
    return min(fitting)[2] if fitting else -1


def _holds(request: ReplicaRequest, entry: int, kind: Kind, family: Family, profile: Profile) -> bool:
    asked = asked_memory(request, entry)
    real = family.memory_of(profile, kind.memory_mib)
    enough = asked is None or asked <= max(real, profile.nominal_mib)
    if request.mig_profile:
        return profile.name == request.mig_profile and enough
    if not profile.plain or family.share_bp(profile) < request.compute_bp:
        return False
    if asked is None:
        return profile.units * WHOLE >= request.share_bp * family.units
    return enough


def isolation_for(request: ReplicaRequest, kinds: Iterable[Kind]) -> str:
    """What ``auto`` means for this request on these cards.

    Devices that differ: unequal, each of the asks has its own. Whole cards: exclusive. A fraction
    that minds its neighbours' memory traffic: mig, unless no allowed card could ever cut such a
    slice. Any other fraction: vgpu.
    """
    if request.isolation != "auto":
        return request.isolation
    if request.asks:
        return "unequal"
    if request.mig_profile:
        return "mig"
    if request.whole:
        return "exclusive"
    if request.bandwidth_sensitive and any(
        allows(request, kind) and profile_for(request, 0, kind) >= 0 for kind in kinds
    ):
        return "mig"
    return "vgpu"


def least_share(request: ReplicaRequest, kind: Kind, kinds: Iterable[Kind]) -> int | None:
    """Free share from which a card of this kind serves the request: compute, or its memory
    seen as a share, whichever is more. None if it never does, or could by MIG slices only."""
    if request.devices == 0 or request.asks or not kind.plain or not allows(request, kind):
        return None
    isolation = isolation_for(request, kinds)
    if isolation == "mig":
        return None
    by_memory = -(-max(request.memory_mib) * WHOLE // kind.memory_mib) if request.memory_mib else request.share_bp
    if by_memory > WHOLE:
        return None
    return WHOLE if isolation == "exclusive" else max(request.compute_bp, by_memory)
