"""One connection of one node: hello first, then reports, news and output until it ends."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import structlog

from console.common import clock
from console.common.errors import WeirError
from pool.agent import messages, protocol
from pool.agent.protocol import FLAG_FAULT, Kind, LogPiece, ProtocolError, Report, State
from pool.nodes.services import News, Session

log = structlog.get_logger(__name__)
HELLO_S = 10.0
WRITE_LIMIT = 8 << 20  # a node that does not read so much of what we send is cut off


@dataclass(eq=False, slots=True)
class Connection:
    """State of a node that is in. `reports` counts those of this connection; `listed` is what the last one said.

    `last_report_at` is when the node last said anything: news of a replica is as good a sign of life as a report.
    """

    session: Session
    writer: asyncio.StreamWriter
    memory_mib: np.ndarray[Any, Any]
    last_report_at: datetime
    listed: dict[str, State]
    reports: int = 0
    flagged: frozenset[int] = frozenset()  # device indexes that the last report calls faulty
    faults: frozenset[int] | None = None  # what of that is stored; None: not looked at yet
    indexes: tuple[int, ...] = ()
    reachable: bool = False
    missing: dict[str, int] = field(default_factory=dict)  # replica -> reports in a row that did not list it
    seen: dict[str, datetime] = field(default_factory=dict)  # replica -> when a report last listed it

    @property
    def node_id(self) -> int:
        return self.session.node_id

    def send(self, message: dict[str, Any]) -> None:
        """Never waits; a node that does not read is cut off."""
        if self.writer.is_closing():
            return
        self.writer.write(protocol.control(message))
        if self.writer.transport.get_write_buffer_size() > WRITE_LIMIT:
            log.warning("node_does_not_read", node=self.session.name)
            self.writer.transport.abort()

    def take(self, report: Report, now: datetime) -> None:
        """Raises ProtocolError for a report that does not fit the hello."""
        if len(report.devices) != len(self.memory_mib):
            raise ProtocolError(f"a report of {len(report.devices)} devices; the hello had {len(self.memory_mib)}")
        self.reports += 1
        self.last_report_at = now
        self.listed = dict(report.replicas)
        self.flagged = frozenset(
            self.indexes[place] for place in np.flatnonzero(report.devices["flags"] & FLAG_FAULT).tolist()
        )
        for name in self.listed:
            self.seen[name] = now

    def news(self, message: dict[str, Any], proof_at: datetime | None) -> News:
        self.last_report_at = clock.now()
        return News(self.node_id, self.session.number, message, self.last_report_at, proof_at)

    def stop(self, replica: str, reason: str) -> None:
        """Ends what must not run, outside of the outbox: repeated at each report that still lists it."""
        self.send({"type": "stop", "command": None, "replica": replica, "grace_s": 5, "reason": reason})

    def close(self) -> None:
        self.writer.close()


@dataclass(frozen=True, slots=True)
class Hello:
    """A checked hello and where it came from."""

    message: dict[str, Any]
    address: str

    @property
    def replicas(self) -> dict[str, State]:
        return {item["replica"]: State(item["state"]) for item in self.message["replicas"]}

    @property
    def memory_mib(self) -> np.ndarray[Any, Any]:
        return np.array([device["memory_mib"] for device in self.message["node"]["devices"]], np.float64)

    @property
    def indexes(self) -> tuple[int, ...]:
        return tuple(device["index"] for device in self.message["node"]["devices"])


async def read_hello(reader: asyncio.StreamReader, address: str) -> Hello:
    """Raises ProtocolError, TimeoutError, EOFError."""
    async with asyncio.timeout(HELLO_S):
        kind, body = await protocol.read_frame(reader)
    if kind is not Kind.CONTROL:
        raise ProtocolError("a connection begins with a hello")
    message = protocol.read_control(body)
    if messages.check(message, messages.FROM_AGENT) != "hello":
        raise ProtocolError("a connection begins with a hello")
    if message["version"] != protocol.VERSION:
        raise ProtocolError(f"protocol version {message['version']}; this gateway speaks {protocol.VERSION}")
    return Hello(message, address)


def parse(kind: Kind, body: bytes) -> Report | LogPiece | dict[str, Any]:
    """The content of a frame after the hello. Raises ProtocolError."""
    if kind is Kind.REPORT:
        return protocol.read_report(body)
    if kind is Kind.LOG:
        return protocol.read_log(body)
    message = protocol.read_control(body)
    if messages.check(message, messages.FROM_AGENT) == "hello":
        raise ProtocolError("a second hello on one connection")
    return message


def refuse(writer: asyncio.StreamWriter, error: Exception) -> None:
    """Says why and hangs up; internal details stay here."""
    code = error.code if isinstance(error, WeirError) else "protocol"
    message = str(error)[:500] if isinstance(error, WeirError | ProtocolError) else "internal error"
    writer.write(protocol.control({"type": "refused", "code": code[:40], "message": message}))
    writer.close()
