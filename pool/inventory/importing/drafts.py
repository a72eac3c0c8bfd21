"""What a file or an agent says about hardware, before it is compared with what is known.

None means "not said": what is known stays. `where` names the place in the source ("line 12: sites[0].nodes[3]"),
for messages. Units as in the models: MiB, 1/1000 core, W, GB/s.
"""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class ModelDraft:
    name: str
    vendor: str
    memory_mib: int
    mig_family: str = ""
    power_limit_w: int = 300
    weight: Decimal = Decimal(1)
    where: str = ""


@dataclass(frozen=True, slots=True)
class SiteDraft:
    name: str
    provider: str | None = None
    residency: str | None = None
    fabric: str | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class DomainDraft:
    """`parent` is (kind, name) of a domain of the same site."""

    site: str
    kind: str
    name: str
    parent: tuple[str, str] | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class DeviceDraft:
    """`model` is the name of a `DeviceModel`; `vendor` is used only where that is not known yet."""

    index: int
    model: str
    memory_mib: int
    uuid: str | None = None
    mig_enabled: bool | None = None
    nvlink_island: int | None = None
    numa_node: int | None = None
    pci_address: str | None = None
    labels: dict[str, str] | None = None
    vendor: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class LinkDraft:
    """`a` < `b` are indices of devices of one node."""

    a: int
    b: int
    kind: str
    bandwidth_gbs: int = 0


@dataclass(frozen=True, slots=True)
class NodeDraft:
    """`devices` and `links`: None is not said, empty is none."""

    name: str
    site: str
    cpu_milli: int
    memory_mib: int
    pod: str | None = None
    switch: str | None = None
    rack: str | None = None
    labels: dict[str, str] | None = None
    backend: str | None = None
    devices: tuple[DeviceDraft, ...] | None = None
    links: tuple[LinkDraft, ...] | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class FleetDraft:
    """A whole file. `digest` is the SHA-256 of its bytes, `name` its file name."""

    sites: tuple[SiteDraft, ...] = ()
    domains: tuple[DomainDraft, ...] = ()
    models: tuple[ModelDraft, ...] = ()
    nodes: tuple[NodeDraft, ...] = ()
    name: str = ""
    format: str = ""
    digest: str = ""
