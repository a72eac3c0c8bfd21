"""What the supervisor must know about one process, as plain data."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

Probe = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Spec:
    """`stage`: lower ones start first and stop last. `grace`: seconds between TERM and KILL at a stop.

    `probe` tells whether the process answers; with `watched` it is asked every `probe_every` seconds, and a process
    that stops answering is restarted.
    `quiet`: its lines go to the log file only. `before` runs before each start.
    `nice`: how far it steps back when the cores are busy (nice(1)), with all that it starts.
    `env` is added to the supervisor's environment.
    """

    name: str
    argv: Sequence[str]
    stage: int
    env: Mapping[str, str] = field(default_factory=dict)
    grace: float = 10.0
    probe: Probe | None = None
    watched: bool = False
    probe_every: float = 5.0
    quiet: bool = False
    before: Callable[[], None] | None = None
    nice: int = 0


@dataclass
class Backoff:
    """Seconds before the next start: 0.1, 0.2, 0.4 ... `longest`; from the start again after `calm` seconds up."""

    first: float = 0.1
    longest: float = 30.0
    calm: float = 20.0
    _next: float = 0.0

    def after(self, ran_for: float) -> float:
        if ran_for >= self.calm or not self._next:
            self._next = self.first
        delay = self._next
        self._next = min(self._next * 2, self.longest)
        return delay
