"""The host that runs real processes: every replica under a shim, found again after a restart of the agent."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from pool.agent import boottime
from pool.agent.driver import Driver, slices
from pool.agent.environment import checkpoint_file, compose
from pool.agent.host import Answer, Save
from pool.agent.protocol import State
from pool.agent.replica import Replica
from pool.agent.store import Store

log = logging.getLogger("weir.agent")


class Machine:
    """`facts`: what the hello says of the node, without its devices."""

    wake: Callable[[], None]

    def __init__(self, store: Store, driver: Driver, facts: dict[str, Any]) -> None:
        self.store, self.driver, self.facts = store, driver, facts
        self.known: dict[str, Replica] = {}
        self.wake = lambda: None

    async def recover(self) -> None:
        """Adopts what is on disk: running, ended while nobody watched, or created and never launched."""
        self.store.prune()
        for ident in self.store.replicas():
            replica = self._open(ident)
            if not replica.work:
                log.error("replica %s has no readable start command; it is given up", ident)
            if replica.was_launched():
                await replica.attach(absent=True)
            else:
                await replica.launch()
            self._use_again(replica)
            log.info("replica %s: %s", ident, replica.state.name.lower())

    # -- Host

    def node(self) -> dict[str, Any]:
        return {**self.facts, "devices": [fact.as_message() for fact in self.driver.devices()]}

    def replicas(self) -> Sequence[tuple[str, int]]:
        return [(ident, replica.state) for ident, replica in self.known.items()]

    def telemetry(self) -> bytes:
        return self.driver.telemetry()

    async def start(self, replica: str, work: dict[str, Any]) -> Answer:
        if replica in self.known or self.store.has_ended(replica):
            return True, "known already"
        try:
            spec = self._spec(replica, work)
            self._use_devices(replica, work)
        except (ValueError, KeyError) as error:
            self._ended_unborn(replica, work, "start_failed", str(error))
            return False, str(error)
        self.store.create(replica, work, spec)
        found = self._open(replica)
        async with found.lock:
            await found.launch()
        return True, ""

    async def stop(self, replica: str, grace_s: float, reason: str, save: Save | None = None) -> Answer:
        found = self.known.get(replica)
        if found is None:
            if not self.store.has_ended(replica):
                self._ended_unborn(replica, {}, "stop", "stopped before it started")
            return True, "was not running"
        async with found.lock:
            await found.stop(grace_s, reason, save)
        return True, ""

    def events(self) -> Sequence[dict[str, Any]]:
        return [event for replica in self.known.values() for event in replica.events()]

    def noted(self, replica: str, event: str) -> None:
        if found := self.known.get(replica):
            found.noted.add(event)
            self._forget_if_done(found)

    def checkpoints(self) -> Sequence[dict[str, Any]]:
        return [event for replica in self.known.values() for event in replica.checkpoint()]

    def saved(self, replica: str, number: int) -> None:
        if found := self.known.get(replica):
            found.saved = number

    def output(self) -> Sequence[bytes]:
        frames: list[bytes] = []
        for replica in self.known.values():
            frames += replica.output()
        return frames

    def logged(self, replica: str, stream: str, offset: int) -> None:
        if found := self.known.get(replica):
            found.logged(stream, offset)
            self._forget_if_done(found)

    def rewind_output(self) -> None:
        for replica in self.known.values():
            replica.rewind()

    def renew(self, until_us: int) -> None:
        try:
            self.store.renew_lease(until_us)
        except OSError as error:  # shims end work by themselves if this lasts
            log.error("the lease cannot be written: %s", error)

    def fence(self) -> None:
        """Nothing to do: each shim reads the lease by itself, so that it also ends without an agent."""

    # -- inside

    def _open(self, ident: str) -> Replica:
        replica = Replica(ident, self.store.folder(ident), self._changed)
        self.known[ident] = replica
        return replica

    def _changed(self, replica: Replica) -> None:
        if replica.state is State.EXITED:
            self.driver.detach(replica.ident)
        self.wake()

    def _use_again(self, replica: Replica) -> None:
        """Of what was adopted: what runs holds its slots already."""
        if replica.state is not State.EXITED and replica.work:
            self._use_devices(replica.ident, replica.work)

    def _use_devices(self, replica: str, work: dict[str, Any]) -> None:
        """Raises ValueError."""
        environment = {**work["environment"], "WEIR_JOB": work["job"]}
        self.driver.attach(replica, slices(work["devices"]), environment)

    def _spec(self, replica: str, work: dict[str, Any]) -> dict[str, Any]:
        if not work["command"] or any("\0" in word for word in work["command"]):
            raise ValueError("command: must have at least one word, and no NUL in any")
        parts = slices(work["devices"])
        known = {fact.index for fact in self.driver.devices()}
        if missing := [part.index for part in parts if part.index not in known]:
            raise ValueError(f"devices: this node has no device {missing[0]}")
        home = str(self.store.folder(replica) / "home")
        visible = [self.driver.visible(part) for part in parts]
        return {
            "argv": work["command"],
            "env": compose(work, parts, visible, home),
            "cwd": home,
            "grace_s": work["grace_s"],
            "lease": str(self.store.lease_path),
            "checkpoint": checkpoint_file(home),
        }

    def _ended_unborn(self, replica: str, work: dict[str, Any], cause: str, detail: str) -> None:
        """An end without a start, on disk like any other so that the server hears of it whatever happens."""
        self.store.create(replica, work, {})
        self.store.end(replica)
        self._open(replica).close(cause, detail, boottime.now_us())

    def _forget_if_done(self, replica: Replica) -> None:
        if replica.is_done():
            self.known.pop(replica.ident, None)
            self.store.forget(replica.ident)
