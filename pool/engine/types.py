"""Plain data that goes into the engine and comes out of it.

Units: compute share in basis points of a card (10 000 = the whole card), memory in MiB,
CPU in 1/1000 core. Everything is frozen: a decision can be kept, compared and replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pool.engine.affinity import Affinity
from pool.engine.levels import NODE, check_levels
from pool.engine.selectors import Labels, Selector, as_labels

WHOLE: Final = 10_000
MOST_CARDS: Final = 64  # on one node: what the packed scores have bits for
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
    vendor: str = ""
    labels: Labels = ()

    def __post_init__(self) -> None:
        _whole_number("device.memory_mib", self.memory_mib, 1)
        as_labels("device.labels", self.labels)


def less_reserve(memory_mib: int, reserve_percent: int) -> int:
    """A card's MiB less what the driver keeps: 46 068 less 3 % is 44 685."""
    _whole_number("reserve_percent", reserve_percent, 0, 99)
    return memory_mib * (100 - reserve_percent) // 100


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One server with its cards. Decisions break their last tie by the lowest ``key``.

    ``labels`` hold for all its cards; a card's own label of the same key goes before. ``fabric``
    names the network of its site (links.py)."""

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
    labels: Labels = ()
    fabric: str = ""

    def __post_init__(self) -> None:
        _whole_number("node.cpu_milli", self.cpu_milli, 0)
        _whole_number("node.memory_mib", self.memory_mib, 0)
        as_labels("node.labels", self.labels)


@dataclass(frozen=True, slots=True)
class Hold:
    """One live allocation of part of a card, or (``device_key`` None) of a node's CPU and memory.

    ``labels`` of its job, and what that job ``repels`` (its required repulsions): what affinity
    of other jobs looks at."""

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
    labels: Labels = ()
    repels: tuple[Affinity, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaRequest:
    """What one replica needs on one node.

    ``memory_mib``: one entry a device (they may differ), one entry for every device, or empty:
    the share ``share_bp`` of the card's memory. With whole cards it is the least memory a card
    must have. ``gpu_cores_percent``: compute asked apart from memory (0: ``share_bp`` says both).
    ``models`` and ``vendors`` empty: any. ``preference``: models or vendors, best first: the
    first that holds the job wins; a card that is none of them is not taken. ``devices`` 0: CPU
    and memory only. ``asks``: devices that differ in more than memory, each a request of its own
    without CPU and memory; ``devices`` is their sum, and everything else about devices is theirs.
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
    gpu_cores_percent: int = 0
    vendors: frozenset[str] = frozenset()
    preference: tuple[str, ...] = ()
    gpu_selector: Selector = ()
    asks: tuple[ReplicaRequest, ...] = ()

    @property
    def compute_bp(self) -> int:
        """The compute share of a card that each device takes."""
        return self.gpu_cores_percent * 100 or self.share_bp

    @property
    def whole(self) -> bool:
        """Whether it asks for whole cards, all their compute and memory."""
        return self.share_bp == WHOLE and not self.gpu_cores_percent

    def __post_init__(self) -> None:
        _whole_number("devices", self.devices, 0)
        _whole_number("share_bp", self.share_bp, 1, WHOLE)
        _whole_number("gpu_cores_percent", self.gpu_cores_percent, 0, 100)
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
        if self.isolation == "exclusive" and self.gpu_cores_percent:
            raise ValueError("gpu_cores_percent: exclusive takes whole cards; leave it out")
        if self.mig_profile and self.isolation not in ("mig", "auto"):
            raise ValueError(f"mig_profile: isolation {self.isolation} has no MIG profile")
        if len(set(self.preference)) != len(self.preference):
            raise ValueError("preference: a model or vendor is named twice")
        if self.asks:
            self._check_asks()

    def _check_asks(self) -> None:
        if sum(ask.devices for ask in self.asks) != self.devices:
            raise ValueError(f"asks: they are for {sum(ask.devices for ask in self.asks)} devices, not {self.devices}")
        if any(ask.asks or ask.cpu_milli or ask.host_memory_mib or not ask.devices for ask in self.asks):
            raise ValueError("asks: each is about one device or more, without CPU, memory or asks of its own")
        about = (self.memory_mib, self.mig_profile, self.models, self.vendors, self.preference, self.gpu_selector)
        if any(about) or self.gpu_cores_percent or self.share_bp != WHOLE or self.isolation != "auto":
            raise ValueError("asks: what is asked of devices belongs into them, not beside them")
        if any(ask.preference for ask in self.asks):
            raise ValueError("preference: unequal devices have none; name models in each of the asks")


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """``replicas`` like replicas of a job, of which ``min_replicas`` must start together.

    Topology levels as of a job: they say where this role's replicas stand, inside the job's domain."""

    name: str
    request: ReplicaRequest
    replicas: int
    min_replicas: int
    required_topology_level: str = ""
    preferred_topology_level: str = ""

    def __post_init__(self) -> None:
        _whole_number("replicas", self.replicas, 1)
        _whole_number("min_replicas", self.min_replicas, 0, self.replicas)
        check_levels(self.required_topology_level, self.preferred_topology_level, NODE)


@dataclass(frozen=True, slots=True)
class Step:
    """What a training step sends and computes: bytes of gradients, compute time in microseconds,
    and the part (bp) of the all-reduce that hides behind it. The default, by which placements
    compare where nothing is known: 7 B parameters in bf16, one second, nothing hidden."""

    gradient_bytes: int = 14_000_000_000
    compute_us: int = 1_000_000
    overlap_bp: int = 0

    def __post_init__(self) -> None:
        _whole_number("gradient_bytes", self.gradient_bytes, 0, 2**50)
        _whole_number("compute_us", self.compute_us, 1)
        _whole_number("overlap_bp", self.overlap_bp, 0, WHOLE)


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A gang: at least ``min_member`` replicas and each role's minimum, or nothing at all.

    It goes into the smallest topology domain that holds it. ``required_topology_level``: one
    domain of this level, or a refusal. ``preferred_topology_level``: one domain of this level if
    any holds the minimum (an elastic gang rather starts smaller inside), else further outward.
    """

    key: int
    tenant: str
    trust_group: str
    roles: tuple[RoleRequest, ...]
    min_member: int
    required_topology_level: str = ""
    preferred_topology_level: str = ""
    labels: Labels = ()
    affinity: tuple[Affinity, ...] = ()
    step: Step = Step()

    def __post_init__(self) -> None:
        check_levels(self.required_topology_level, self.preferred_topology_level)
        as_labels("labels", self.labels)
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
class Neighbourhood:
    """Where a gang stands. ``level``: the deepest that all of it shares ("fleet": not even a
    site), ``domain`` its path. ``preferred`` was met or, if not, the preferred level's best
    domain held ``best_inside`` of the ``wanted`` replicas. ``rivals``: other domains of the level
    chosen at that would have held it too.

    ``all_reduce_us`` and ``communication_bp``: the estimate (allreduce.py) of the step's
    all-reduce and of the part of the step spent waiting for it; ``widest`` the widest hop of the
    ring. Zeros for a gang of fewer than two devices.
    """

    level: str
    domain: str
    preferred: str
    met: bool
    best_inside: int
    wanted: int
    rivals: int
    all_reduce_us: int
    communication_bp: int
    algorithm: str
    widest: str


@dataclass(frozen=True, slots=True)
class Placed:
    """Where every replica goes. ``score`` is that of the first replica and ``runner_up`` the best
    other node for it that is no better by score (for a gang the domain goes before the score),
    ``considered`` the nodes that could have held it. ``neighbourhood``: of gangs. ``preference``: the
    models or vendors by rank that it fell to, by role, where the request ranks them."""

    job_key: int
    replicas: tuple[ReplicaPlacement, ...]
    score: ScoreParts
    runner_up: ScoreParts | None
    considered: int
    neighbourhood: Neighbourhood | None = None
    preference: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FilterCount:
    """How many devices stopped at this filter first (for CPU-only work: nodes)."""

    filter: str
    devices: int
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class LevelCount:
    """What one level of the topology offers a gang: its ``domains``, how many of them hold the
    ``wanted`` replicas, and the ``best`` of them with the ``replicas`` that it holds."""

    level: str
    domains: int
    holding: int
    best: str
    replicas: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the request that admits the job now (checked by deciding again).

    ``kind``: cpu_milli, host_memory_mib, memory_mib, share_bp, gpu_cores_percent, devices,
    min_member, models, vendors, preference, gpu_selector, affinity, required_topology_level,
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
    """Why nothing fits. ``never``: not even this hardware, wholly free, would hold it.
    ``levels``: for a gang that needs a topology level, what each level offers."""

    job_key: int
    failed: tuple[FilterCount, ...]
    changes: tuple[Change, ...]
    never: bool
    role: str = ""
    levels: tuple[LevelCount, ...] = ()


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
