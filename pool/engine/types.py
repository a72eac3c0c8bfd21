"""Plain data that goes into the engine and comes out of it.

Units: compute share in basis points of a card (10 000 = the whole card), memory in MiB,
CPU in 1/1000 core. Everything is frozen: a decision can be kept, compared and replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

WHOLE: Final = 10_000
LARGEST: Final = 2**40  # far above any real card or node, far below where int64 sums overflow

Isolation = Literal["exclusive", "mig", "vgpu", "auto"]
ISOLATIONS: Final = ("exclusive", "mig", "vgpu", "auto")


def _whole_number(field: str, value: object, low: int, high: int = LARGEST) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{field}: {value!r} is not a whole number")
    if not low <= value <= high:
        raise ValueError(f"{field}: {value} is outside {low} to {high}")


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One card. ``memory_mib`` is what work may hold: take a driver reserve off before."""

    key: int
    index: int
    model: str
    memory_mib: int
    mig_family: str = ""
    mig_enabled: bool = False
    nvlink_island: int = -1
    schedulable: bool = True

    def __post_init__(self) -> None:
        _whole_number("device.memory_mib", self.memory_mib, 1)


def less_reserve(memory_mib: int, reserve_percent: int) -> int:
    """A card's MiB less what the driver keeps: 46 068 less 3 % is 44 685."""
    _whole_number("reserve_percent", reserve_percent, 0, 99)
    return memory_mib * (100 - reserve_percent) // 100


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One server with its cards. Decisions break their last tie by the lowest ``key``."""

    key: int
    name: str
    site: str
    pod: str
    switch: str
    rack: str
    cpu_milli: int
    memory_mib: int
    devices: tuple[DeviceSpec, ...]
    schedulable: bool = True

    def __post_init__(self) -> None:
        _whole_number("node.cpu_milli", self.cpu_milli, 0)
        _whole_number("node.memory_mib", self.memory_mib, 0)


@dataclass(frozen=True, slots=True)
class Hold:
    """One live allocation of part of a card, or (``device_key`` None) of a node's CPU and memory."""

    device_key: int | None
    node_key: int
    share_bp: int
    memory_mib: int
    isolation: str
    mig_profile: str
    mig_start: int
    mig_size: int
    tenant: str
    trust_group: str
    cpu_milli: int
    host_memory_mib: int


@dataclass(frozen=True, slots=True)
class ReplicaRequest:
    """What one replica needs on one node.

    ``memory_mib``: one entry a device (they may differ), one entry for every device, or empty:
    the same share of the card's memory as of its compute. With whole cards it is the least
    memory a card must have. ``models`` empty: any model. ``devices`` 0: CPU and memory only.
    """

    devices: int
    share_bp: int = WHOLE
    memory_mib: tuple[int, ...] = ()
    mig_profile: str = ""
    isolation: str = "auto"
    models: frozenset[str] = frozenset()
    cpu_milli: int = 0
    host_memory_mib: int = 0
    bandwidth_sensitive: bool = False

    def __post_init__(self) -> None:
        _whole_number("devices", self.devices, 0)
        _whole_number("share_bp", self.share_bp, 1, WHOLE)
        _whole_number("cpu_milli", self.cpu_milli, 0)
        _whole_number("host_memory_mib", self.host_memory_mib, 0)
        for memory in self.memory_mib:
            _whole_number("memory_mib", memory, 1)
        if len(self.memory_mib) > 1 and len(self.memory_mib) != self.devices:
            raise ValueError(
                f"memory_mib: {len(self.memory_mib)} entries for {self.devices} devices; "
                "give one for all, or one a device"
            )
        if self.isolation not in ISOLATIONS:
            raise ValueError(f"isolation: {self.isolation!r} is not one of {', '.join(ISOLATIONS)}")
        if self.isolation == "exclusive" and self.share_bp != WHOLE:
            raise ValueError(f"share_bp: exclusive takes whole cards ({WHOLE}), not {self.share_bp}")
        if self.mig_profile and self.isolation not in ("mig", "auto"):
            raise ValueError(f"mig_profile: isolation {self.isolation} has no MIG profile")


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """``replicas`` like replicas of a job, of which ``min_replicas`` must start together."""

    name: str
    request: ReplicaRequest
    replicas: int
    min_replicas: int

    def __post_init__(self) -> None:
        _whole_number("replicas", self.replicas, 1)
        _whole_number("min_replicas", self.min_replicas, 0, self.replicas)


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A gang: at least ``min_member`` replicas and each role's minimum, or nothing at all."""

    key: int
    tenant: str
    trust_group: str
    roles: tuple[RoleRequest, ...]
    min_member: int

    def __post_init__(self) -> None:
        if not self.roles:
            raise ValueError("roles: a job needs at least one role")
        _whole_number("min_member", self.min_member, 0, sum(role.replicas for role in self.roles))
        if len({role.name for role in self.roles}) != len(self.roles):
            raise ValueError("roles: two roles have the same name")


@dataclass(frozen=True, slots=True)
class DevicePlacement:
    """A part of one card: what a :class:`Hold` of it will hold."""

    device_key: int
    share_bp: int
    memory_mib: int
    isolation: str
    mig_profile: str = ""
    mig_start: int = -1
    mig_size: int = 0


@dataclass(frozen=True, slots=True)
class ReplicaPlacement:
    """``rank`` counts within the role, from 0. ``devices`` follow the request's memory list."""

    role: str
    rank: int
    node_key: int
    devices: tuple[DevicePlacement, ...]
    cpu_milli: int
    host_memory_mib: int


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Why one node stands where it stands; smaller is better, read from left to right.

    ``fragmentation_change_bp`` is rounded to ``bucket`` (the nearest multiple of the policy's
    bucket); equal buckets prefer the smallest ``tie`` (by ``tie_rule``), then the lowest
    ``node_index`` (nodes by key).
    """

    node_key: int
    device_keys: tuple[int, ...]
    fragmentation_change_bp: float
    bucket: int
    tie_rule: str
    tie: int
    node_index: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Where every replica goes. ``score`` and ``runner_up`` (the best other node) are those of
    the first replica placed, ``considered`` the nodes that could have held it."""

    job_key: int
    replicas: tuple[ReplicaPlacement, ...]
    score: ScoreParts
    runner_up: ScoreParts | None
    considered: int


@dataclass(frozen=True, slots=True)
class FilterCount:
    """How many devices stopped at this filter first (for CPU-only work: nodes)."""

    filter: str
    devices: int
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the request that admits the job now (checked by deciding again).

    ``kind``: cpu_milli, host_memory_mib, memory_mib, share_bp, devices, min_member, models,
    mig_profile or isolation. ``size`` orders changes: the part given up, 0 to 1.
    """

    kind: str
    role: str
    before: int | str
    after: int | str
    size: float
    params: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing fits. ``never``: not even this hardware, wholly free, would hold it."""

    job_key: int
    failed: tuple[FilterCount, ...]
    changes: tuple[Change, ...]
    never: bool
    role: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """How to choose. ``bucket_bp``: fragmentation changes closer than this count as equal
    (80 thousandths of a card). Above ``cpu_tie_percent`` of the GPU's rate of demand, CPU
    joins the packing tie. ``explain`` False leaves out the changes of a refusal (for sweeps).
    """

    bucket_bp: int = 800
    cpu_tie_percent: int = 95
    explain: bool = True
    backtrack_limit: int = 400


DEFAULT: Final = Policy()
