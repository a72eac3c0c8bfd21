"""A model of a node's agent and of the processes under its shims, on the virtual clock."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

LEASE = timedelta(seconds=30)


@dataclass
class Process:
    """One process group under its shim: it survives the agent."""

    payload: dict[str, Any]
    started_at: datetime
    ends_at: datetime
    exit_code: int
    cause: str = "exit"
    told_started: bool = False
    told_ended: bool = False

    def running(self, now: datetime) -> bool:
        return now < self.ends_at


@dataclass
class ModelAgent:
    """`processes` and `refused` are what is on the node's disk; the rest is lost with the agent."""

    name: str
    credential: str = ""
    node_id: int = 0
    session: int = 0
    connected: bool = False
    silent_until: datetime | None = None
    lease_until: datetime | None = None
    processes: dict[str, Process] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def start(self, payload: dict[str, Any], now: datetime) -> None:
        """Idempotent; a start that comes after its stop is not carried out."""
        replica = payload["replica"]
        if replica in self.processes or replica in self.refused:
            return
        environment = payload["environment"]
        duration = timedelta(seconds=float(environment.get("WEIR_SIM_SECONDS", "5")))
        self.processes[replica] = Process(payload, now, now + duration, int(environment.get("WEIR_SIM_EXIT", "0")))

    def stop(self, payload: dict[str, Any], now: datetime) -> None:
        replica = payload["replica"]
        process = self.processes.get(replica)
        if process is None:
            self.refused.add(replica)
        elif process.running(now):
            process.ends_at, process.exit_code, process.cause = now, -15, "stop"

    def renew(self, now: datetime) -> None:
        self.lease_until = now + LEASE

    def fence(self, now: datetime) -> None:
        """Without a valid lease the shims end their work themselves."""
        if self.lease_until is None or now < self.lease_until:
            return
        for process in self.processes.values():
            if process.ends_at > self.lease_until:
                process.ends_at, process.exit_code, process.cause = self.lease_until, -9, "lease"

    def news(self, now: datetime) -> list[dict[str, Any]]:
        """All that the server has not confirmed yet: told again until it is."""
        messages = []
        for replica, process in self.processes.items():
            if not process.told_started:
                messages.append({"type": "started", "replica": replica, "age_us": _us(now - process.started_at)})
            if not process.running(now) and not process.told_ended:
                messages.append(
                    {
                        "type": "exited",
                        "replica": replica,
                        "exit_code": process.exit_code,
                        "cause": process.cause,
                        "detail": "",
                        "age_us": _us(now - process.ends_at),
                    }
                )
        for replica in self.refused:
            messages.append(
                {"type": "exited", "replica": replica, "exit_code": None, "cause": "stop", "detail": "", "age_us": 0}
            )
        return messages

    def confirmed(self, message: dict[str, Any]) -> None:
        process = self.processes.get(message["replica"])
        if process is None:
            self.refused.discard(message["replica"])
        elif message["type"] == "started":
            process.told_started = True
        else:
            process.told_ended = True


def _us(span: timedelta) -> int:
    return max(0, span // timedelta(microseconds=1))
