"""The port to devices: what an agent asks of a vendor's library, or of a simulation of one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device as its driver reports it; memory in MiB. `mig_family` is a key of pool.engine.mig_tables."""

    index: int
    uuid: str
    model: str
    vendor: str
    memory_mib: int
    mig_enabled: bool = False
    mig_family: str = ""
    nvlink_island: int = -1
    numa_node: int = -1
    pci_address: str = ""

    def as_message(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a device that a replica holds. Share in basis points of the card, memory in MiB."""

    index: int
    share_bp: int
    memory_mib: int
    isolation: str  # exclusive, mig, vgpu
    mig_profile: str = ""
    mig_start: int = -1
    mig_size: int = 0


class Driver(Protocol):
    """Implementations: simulated. Real vendors' libraries come behind the same four questions."""

    name: str

    def devices(self) -> Sequence[DeviceFacts]:
        """All devices, in the order in which telemetry lists them."""
        ...

    def visible(self, part: Slice) -> str:
        """What CUDA_VISIBLE_DEVICES must hold for this slice: a device's UUID or a MIG device's name."""
        ...

    def attach(self, replica: str, parts: Sequence[Slice], environment: Mapping[str, str]) -> None:
        """A replica is about to use its slices: MIG instances are made. Raises ValueError where slots are in use."""
        ...

    def detach(self, replica: str) -> None:
        """It has ended: its MIG instances go, so that free slots are one again. Unknown ones are ignored."""
        ...

    def telemetry(self) -> bytes:
        """The present state of all devices, as rows of protocol.TELEMETRY."""
        ...


def slices(devices: Sequence[Mapping[str, Any]]) -> list[Slice]:
    """From the `devices` of a start command. Raises ValueError that names the field."""
    found = []
    for number, device in enumerate(devices):
        try:
            found.append(
                Slice(
                    index=int(device["index"]),
                    share_bp=int(device["share_bp"]),
                    memory_mib=int(device["memory_mib"]),
                    isolation=str(device["isolation"]),
                    mig_profile=str(device.get("mig_profile") or ""),
                    mig_start=_or(device.get("mig_start"), -1),
                    mig_size=_or(device.get("mig_size"), 0),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"devices[{number}]: {error!r}") from None
    return found


def _or(value: Any, default: int) -> int:
    return default if value is None else int(value)
