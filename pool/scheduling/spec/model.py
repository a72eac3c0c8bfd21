"""The accepted specification as plain data."""

from dataclasses import dataclass

WHOLE_BP = 10_000
MAX_DEVICES = 64  # per replica
MAX_REPLICAS = 4_096
MAX_MIB = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """One kind of replica. `share_bp` and `memory_mib` count per device."""

    name: str
    replicas: int
    min_replicas: int
    max_replicas: int
    devices: int
    share_bp: int
    memory_mib: tuple[int, ...]
    mig_profile: str
    isolation: str
    models: tuple[str, ...]
    cpu_milli: int
    host_memory_mib: int
    bandwidth_sensitive: bool


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

    @property
    def total_share_bp(self) -> int:
        """Basis points of a card asked for by all replicas; a MIG slice counts by its profile when placed."""
        return sum(role.replicas * role.devices * role.share_bp for role in self.roles)
