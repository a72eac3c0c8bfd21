"""The port between a connection and what it speaks for: a machine with processes, or a node of a simulated fleet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Answer = tuple[bool, str]  # whether a command was carried out (or had been), and what to tell the server


@dataclass(frozen=True, slots=True)
class Save:
    """The signal (of messages.SIGNALS) that asks work to save its state before it ends, and how long it may take."""

    signal: str
    seconds: float


class Host(Protocol):
    """Nothing here blocks. `wake` is called by the host when there are new events or output to send."""

    wake: Callable[[], None]

    def node(self) -> dict[str, Any]:
        """Facts for the hello: see messages.NODE."""
        ...

    def replicas(self) -> Sequence[tuple[str, int]]:
        """All that this node knows of, with protocol.State."""
        ...

    def telemetry(self) -> bytes: ...

    async def start(self, replica: str, work: dict[str, Any]) -> Answer:
        """Idempotent: the same replica twice is one process; one that was stopped or ended never starts."""
        ...

    async def stop(self, replica: str, grace_s: float, reason: str, save: Save | None = None) -> Answer:
        """Idempotent; of a replica that never started it prevents the start. `save`: asked for first."""
        ...

    def events(self) -> Sequence[dict[str, Any]]:
        """`started` and `exited` messages that the server has not noted, with their age as of now."""
        ...

    def noted(self, replica: str, event: str) -> None: ...

    def checkpoints(self) -> Sequence[dict[str, Any]]:
        """`checkpoint` messages: the last one of each replica, unless the server has noted it."""
        ...

    def saved(self, replica: str, number: int) -> None:
        """The server has stored that checkpoint."""
        ...

    def output(self) -> Sequence[bytes]:
        """Some log frames that may be sent now; empty when there are none or enough are on their way."""
        ...

    def logged(self, replica: str, stream: str, offset: int) -> None: ...

    def rewind_output(self) -> None:
        """A new connection: what was sent and never confirmed goes again."""
        ...

    def renew(self, until_us: int) -> None:
        """The server answered: this node may run work until then (microseconds since boot)."""
        ...

    def fence(self) -> None:
        """The lease ran out: whatever runs must end. Called again and again until it is renewed."""
        ...
