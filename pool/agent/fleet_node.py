"""A node of a simulated fleet: the same protocol as a real one, replicas are timers."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pool.agent import boottime, protocol
from pool.agent.driver import slices
from pool.agent.host import Answer, Save
from pool.agent.protocol import State
from pool.agent.simulated import SimulatedDriver

START_S: Final = 0.05  # what a process and its interpreter need to come up
STOP_S: Final = 0.1
KEEP_ENDED: Final = 1000


@dataclass(slots=True)
class Timer:
    state: State
    ended: asyncio.TimerHandle | None = None
    started_us: int | None = None
    saves_us: int = 0  # it saves its state every so long; 0: by itself never
    saved_us: int | None = None
    noted_us: int | None = None  # the checkpoint that the server knows
    ended_us: int | None = None
    exit_code: int | None = None
    cause: str = "exit"
    detail: str = ""
    noted: set[str] = field(default_factory=set)
    text: bytes = b""
    sent: int = 0


class FleetNode:
    """Implements host.Host. What it runs is not kept over a restart of the fleet: then it is lost, and says so."""

    wake: Callable[[], None]

    def __init__(self, facts: dict[str, Any], driver: SimulatedDriver) -> None:
        self.facts, self.driver = facts, driver
        self.known: dict[str, Timer] = {}
        self.ended: dict[str, None] = {}
        self.wake = lambda: None

    # -- Host

    def node(self) -> dict[str, Any]:
        return {**self.facts, "devices": [fact.as_message() for fact in self.driver.devices()]}

    def replicas(self) -> Sequence[tuple[str, int]]:
        return [(name, timer.state) for name, timer in self.known.items()]

    def telemetry(self) -> bytes:
        return self.driver.telemetry()

    async def start(self, replica: str, work: dict[str, Any]) -> Answer:
        if replica in self.known or replica in self.ended:
            return True, "known already"
        environment = {**work["environment"], "WEIR_JOB": work["job"]}
        try:
            self.driver.attach(replica, slices(work["devices"]), environment)
        except ValueError as error:
            self.known[replica] = Timer(State.RUNNING)
            self._end(replica, None, "start_failed", str(error))
            return False, str(error)
        self.known[replica] = Timer(State.STARTING)
        asyncio.get_running_loop().call_later(START_S, self._begin, replica, environment)
        return True, ""

    async def stop(self, replica: str, grace_s: float, reason: str, save: Save | None = None) -> Answer:
        timer = self.known.get(replica)
        if timer is None:
            if replica not in self.ended:
                self.known[replica] = Timer(State.STOPPING)
                self._end(replica, None, "stop", "stopped before it started")
            return True, "was not running"
        if timer.state in (State.STARTING, State.RUNNING):
            if save is not None and timer.state is State.RUNNING:
                timer.saved_us = boottime.now_us()
            timer.state = State.STOPPING
            if timer.ended:
                timer.ended.cancel()
            loop = asyncio.get_running_loop()
            timer.ended = loop.call_later(min(STOP_S, grace_s), self._end, replica, -15, "stop", reason)
        return True, ""

    def events(self) -> Sequence[dict[str, Any]]:
        now = boottime.now_us()
        found: list[dict[str, Any]] = []
        for name, timer in self.known.items():
            if timer.started_us is not None and not timer.noted:
                found.append({"type": "started", "replica": name, "age_us": now - timer.started_us})
            if timer.ended_us is not None and "exited" not in timer.noted:
                found += self._checkpoint(name, timer, now)
                found.append(
                    {
                        "type": "exited",
                        "replica": name,
                        "age_us": now - timer.ended_us,
                        "exit_code": timer.exit_code,
                        "detail": timer.detail[:200],
                        "cause": timer.cause,
                    }
                )
        return found

    def noted(self, replica: str, event: str) -> None:
        timer = self.known.get(replica)
        if timer is None:
            return
        timer.noted.add(event)
        if event == "exited":
            del self.known[replica]
            self.ended[replica] = None
            if len(self.ended) > KEEP_ENDED:
                del self.ended[next(iter(self.ended))]

    def checkpoints(self) -> Sequence[dict[str, Any]]:
        now = boottime.now_us()
        return [event for name, timer in self.known.items() for event in self._checkpoint(name, timer, now)]

    def saved(self, replica: str, number: int) -> None:
        if timer := self.known.get(replica):
            timer.noted_us = number

    def output(self) -> Sequence[bytes]:
        frames = []
        for name, timer in self.known.items():
            if timer.sent < len(timer.text):
                frames.append(protocol.pack_log(name, "stdout", timer.sent, timer.text[timer.sent :]))
                timer.sent = len(timer.text)
        return frames

    def logged(self, replica: str, stream: str, offset: int) -> None:
        """A simulated line is written once; a cut may lose it."""

    def rewind_output(self) -> None:
        """See `logged`."""

    def renew(self, until_us: int) -> None:
        """The link tells us when the lease is over."""

    def fence(self) -> None:
        for name, timer in list(self.known.items()):
            if timer.state is not State.EXITED:
                self._end(name, -9, "lease", "the node's lease ran out without an answer of the server")

    # -- inside

    @staticmethod
    def _checkpoint(replica: str, timer: Timer, now: int) -> list[dict[str, Any]]:
        if timer.started_us is not None and timer.saves_us and timer.state is State.RUNNING:
            last = timer.started_us + (now - timer.started_us) // timer.saves_us * timer.saves_us
            if last > timer.started_us:
                timer.saved_us = last
        if timer.saved_us is None or timer.saved_us == timer.noted_us:
            return []
        return [{"type": "checkpoint", "replica": replica, "age_us": now - timer.saved_us, "number": timer.saved_us}]

    def _begin(self, replica: str, environment: Mapping[str, str]) -> None:
        timer = self.known.get(replica)
        if timer is None or timer.state is not State.STARTING:
            return
        timer.state, timer.started_us = State.RUNNING, boottime.now_us()
        timer.saves_us = saves_of(environment)
        seconds, code = duration_of(environment), exit_of(environment)
        timer.text += f"simulated replica on {self.facts['name']}: {seconds:g} s\n".encode()
        loop = asyncio.get_running_loop()
        timer.ended = loop.call_later(seconds, self._end, replica, code, "exit", "")
        self.wake()

    def _end(self, replica: str, code: int | None, cause: str, detail: str) -> None:
        timer = self.known.get(replica)
        if timer is None or timer.state is State.EXITED:
            return
        if timer.ended:
            timer.ended.cancel()
        timer.state, timer.ended_us = State.EXITED, boottime.now_us()
        timer.exit_code, timer.cause, timer.detail = code, cause, detail
        self.driver.detach(replica)
        self.wake()


def duration_of(environment: Mapping[str, str]) -> float:
    """WEIR_SIM_SECONDS, or a length of its own between two and ten minutes."""
    try:
        return min(30 * 86_400.0, max(0.0, float(environment["WEIR_SIM_SECONDS"])))
    except (KeyError, ValueError):
        digest = hashlib.sha256(environment.get("WEIR_JOB", "").encode()).digest()
        return 120.0 + 480.0 * digest[1] / 255


def saves_of(environment: Mapping[str, str]) -> int:
    """WEIR_SIM_CHECKPOINT_S, how often it saves its state, in microseconds; 0: only when it is asked to."""
    try:
        return int(max(0.0, float(environment["WEIR_SIM_CHECKPOINT_S"])) * 1e6)
    except (KeyError, ValueError, OverflowError):
        return 0


def exit_of(environment: Mapping[str, str]) -> int:
    try:
        return int(environment["WEIR_SIM_EXIT"]) & 255
    except (KeyError, ValueError):
        return 0
