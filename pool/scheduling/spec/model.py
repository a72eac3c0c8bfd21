"""The accepted specification as plain data."""

from dataclasses import dataclass, field
from datetime import datetime

from pool.engine.affinity import Affinity
from pool.engine.selectors import Selector
from pool.engine.types import Step

WHOLE_BP = 10_000
MAX_DEVICES = 64  # per replica
MAX_REPLICAS = 4_096
MAX_MIB = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceAsk:
    """Devices of one sort. `share_bp` and `memory_mib` count per device.

    `gpu_cores_percent` 0: `share_bp` says compute and memory, else memory alone. `preference`: models or vendors,
    best first. Empty `models` and `vendors`: any.
    """

    devices: int
    share_bp: int = WHOLE_BP
    gpu_cores_percent: int = 0
    memory_mib: tuple[int, ...] = ()
    mig_profile: str = ""
    isolation: str = "auto"
    models: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    preference: tuple[str, ...] = ()
    gpu_selector: Selector = ()
    bandwidth_sensitive: bool = False

    @property
    def compute_bp(self) -> int:
        """Compute of each device, in basis points of a card."""
        return self.gpu_cores_percent * 100 or self.share_bp

    @property
    def whole(self) -> bool:
        """Whether it asks for whole cards, all their compute and memory."""
        return self.share_bp == WHOLE_BP and not self.gpu_cores_percent and not self.mig_profile

    @property
    def total_bp(self) -> int:
        """Compute of all devices."""
        return self.devices * self.compute_bp


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSpec(DeviceAsk):
    """One kind of replica: at least `min_replicas`, `replicas` as a rule, up to `max_replicas` where there is room.

    `asks`: devices that differ. `devices` is then their sum, and all else about devices stands in them.
    """

    name: str
    replicas: int
    min_replicas: int
    max_replicas: int
    cpu_milli: int = 0
    host_memory_mib: int = 0
    asks: tuple[DeviceAsk, ...] = ()
    required_topology_level: str = ""
    preferred_topology_level: str = ""

    @property
    def replica_bp(self) -> int:
        """Compute of one replica, in basis points of a card."""
        return sum(ask.total_bp for ask in self.asks) if self.asks else self.total_bp


@dataclass(frozen=True, slots=True)
class Saving:
    """Before a planned stop the job's process groups get `signal`, and up to `grace_s` seconds to save their state."""

    signal: str
    grace_s: int


@dataclass(frozen=True, slots=True)
class JobSpec:
    """`tenant`, `project` and `queue` are names; empty means the actor's only (or default) one."""

    name: str
    tenant: str
    project: str
    queue: str
    kind: str
    command: tuple[str, ...]
    environment: dict[str, str]
    labels: dict[str, str]
    roles: tuple[RoleSpec, ...]
    min_member: int
    priority: int
    preemptible: bool
    max_duration_s: int | None
    max_retries: int
    required_topology_level: str = ""
    preferred_topology_level: str = ""
    affinity: tuple[Affinity, ...] = field(default=())
    step: Step | None = None
    preempt_min_runtime_s: int = 0
    start_no_earlier_than: datetime | None = None
    deadline: datetime | None = None
    checkpoint: Saving | None = None

    @property
    def total_share_bp(self) -> int:
        """Basis points of a card asked for by all replicas; a MIG slice counts by its profile when placed."""
        return sum(role.replicas * role.replica_bp for role in self.roles)
