"""Keeps one node connected: dials, says hello, reports, carries out commands, repeats what was not confirmed."""

import asyncio
import contextlib
import logging
import random
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pool.agent import boottime, messages, protocol
from pool.agent.host import Answer, Host, Save
from pool.agent.protocol import Kind, ProtocolError

log = logging.getLogger("weir.agent")
FIRST_RETRY_S, LONGEST_RETRY_S = 0.1, 5.0
DIAL_S: Final = 10.0
GREET_S: Final = 60.0  # a gateway that just started lets thousands in, one after the other
# refusals that pass: the server has not noticed yet that our last connection is gone
PASSING: Final = frozenset({"node_in_use", "twice", "protocol"})
SILENT_PERIODS: Final = 4  # a server that leaves so many reports unanswered is gone, whatever TCP thinks


class Refused(Exception):
    """The server does not let this node in; the message says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Access:
    """How to get in. `save` keeps a credential that the server gives in exchange for the token."""

    token: str | None
    credential: str | None
    save: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Server:
    host: str
    port: int
    tls: ssl.SSLContext | None = None


class Link:
    """One node's connection. `run` lasts until it is cancelled, or until the server refuses a node that is new."""

    def __init__(self, host: Host, server: Server, access: Access, *, site: str, agent: str, driver: str) -> None:
        self.host, self.server, self.access = host, server, access
        self.site, self.agent, self.driver = site, agent, driver
        self.welcomed = asyncio.Event()
        self.silent = False  # a fault on demand: connected, and says nothing
        self._wake = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._sent: dict[tuple[str, str], int] = {}  # event -> when it was sent
        self._reports: dict[int, int] = {}  # report -> when it was sent
        self._lease_s = self._report_s = 0.0
        self._until: int | None = None
        self._phase = random.random()
        host.wake = self._wake.set

    async def run(self) -> None:
        delay = FIRST_RETRY_S
        fence = asyncio.create_task(self._watch_lease())
        try:
            while True:
                try:
                    await self._once()
                    delay = FIRST_RETRY_S
                except Refused as error:
                    log.error("refused by the server: %s", error)
                    if not self._try_token() and self._is_hopeless(error):
                        raise
                except (OSError, EOFError, ProtocolError, TimeoutError) as error:
                    log.warning("no connection to %s:%s: %r", self.server.host, self.server.port, error)
                if self._until_was_extended():
                    delay = FIRST_RETRY_S
                await asyncio.sleep(delay * (0.5 + random.random()))
                delay = min(delay * 2, LONGEST_RETRY_S)
        finally:
            fence.cancel()

    def drop(self) -> None:
        """A fault on demand: cut the connection; it is dialled again."""
        if self._writer is not None:
            self._writer.close()

    # -- one connection

    async def _once(self) -> None:
        async with asyncio.timeout(DIAL_S):
            reader, writer = await asyncio.open_connection(self.server.host, self.server.port, ssl=self.server.tls)
        self._writer = writer
        try:
            await self._greet(reader, writer)
            await self._converse(reader, writer)
        finally:
            self._writer = None
            for task in self._tasks:
                task.cancel()
            writer.close()
            with contextlib.suppress(Exception):  # it is gone either way
                await writer.wait_closed()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = boottime.now_us()
        writer.write(protocol.control(self._hello()))
        async with asyncio.timeout(GREET_S):
            kind, body = await protocol.read_frame(reader)
        answer = self._checked(kind, body)
        if answer["type"] == "refused":
            raise Refused(answer["code"], answer["message"])
        if answer["type"] != "welcome":
            raise ProtocolError(f"{answer['type']} instead of a welcome")
        if answer["credential"]:
            self.access.credential = answer["credential"]
            self.access.save(answer["credential"])
        self._lease_s, self._report_s = float(answer["lease_s"]), float(answer["report_s"])
        self._renew(sent)
        self._sent.clear()
        self._reports.clear()
        self.host.rewind_output()
        self.welcomed.set()

    def _hello(self) -> dict[str, Any]:
        credential = self.access.credential
        return {
            "type": "hello",
            "version": protocol.VERSION,
            "token": None if credential else self.access.token,
            "credential": credential,
            "agent": self.agent,
            "driver": self.driver,
            "site": self.site,
            "node": self.host.node(),
            "replicas": [{"replica": name, "state": state} for name, state in self.host.replicas()],
        }

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        jobs = [asyncio.create_task(self._report(writer)), asyncio.create_task(self._send_news(writer))]
        try:
            while True:
                async with asyncio.timeout(self._report_s * SILENT_PERIODS + 1):
                    kind, body = await protocol.read_frame(reader)
                self._on_message(self._checked(kind, body), writer)
        finally:
            for job in jobs:
                job.cancel()

    @staticmethod
    def _checked(kind: Kind, body: bytes) -> dict[str, Any]:
        if kind is not Kind.CONTROL:
            raise ProtocolError(f"the server sent a {kind.name} frame")
        message = protocol.read_control(body)
        messages.check(message, messages.FROM_GATEWAY)
        return message

    def _on_message(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        match message["type"]:
            case "lease":
                sent = self._reports.pop(message["seq"], None)
                if sent is not None:
                    self._renew(sent)
            case "noted":
                self._noted(message["replica"], message["event"], message.get("number"))
            case "logged":
                self.host.logged(message["replica"], message["stream"], message["offset"])
                self._wake.set()
            case "start":
                self._later(self._start(message, writer))
            case "stop":
                self._later(self._stop(message, writer))
            case other:
                raise ProtocolError(f"{other} in the middle of a connection")

    def _noted(self, replica: str, event: str, number: int | None) -> None:
        self._sent.pop((replica, event), None)
        if event == "checkpoint":
            self.host.saved(replica, number or 0)
        else:
            self.host.noted(replica, event)

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        work = {**message["work"], "replica": message["replica"]}
        # a cut connection must not leave a start half done
        answer = await asyncio.shield(self.host.start(message["replica"], work))
        self._answer(message["command"], answer, writer)

    async def _stop(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        signal, seconds = message.get("signal"), message.get("signal_s")
        save = Save(signal, float(seconds)) if signal and seconds else None
        stop = self.host.stop(message["replica"], float(message["grace_s"]), message["reason"], save)
        answer = await asyncio.shield(stop)
        if message["command"]:
            self._answer(message["command"], answer, writer)

    @staticmethod
    def _answer(command: str, answer: Answer, writer: asyncio.StreamWriter) -> None:
        ok, detail = answer
        writer.write(protocol.control({"type": "ack", "command": command, "ok": ok, "detail": detail[:300]}))

    # -- what we say by ourselves

    async def _report(self, writer: asyncio.StreamWriter) -> None:
        seq = 0
        wait = 0.0  # the first at once: it is what makes the node usable
        while True:
            await asyncio.sleep(wait)
            wait = self._report_s if seq else self._report_s * self._phase
            if self.silent:
                continue
            seq += 1
            self._reports[seq] = boottime.now_us()
            self._reports.pop(seq - 100, None)
            writer.write(protocol.pack_report(seq, self.host.telemetry(), self.host.replicas()))
            writer.writelines([protocol.control(event) for event in self.host.checkpoints()])
            self._wake.set()  # repeats what was not noted

    async def _send_news(self, writer: asyncio.StreamWriter) -> None:
        while True:
            self._wake.clear()
            if not self.silent:
                self._send_events(writer)
                while frames := self.host.output():
                    writer.writelines(frames)
                    await writer.drain()
                    self._send_events(writer)  # an end must not wait behind a flood of output
            await self._wake.wait()

    def _send_events(self, writer: asyncio.StreamWriter) -> None:
        now = boottime.now_us()
        patience = int(2e6 * self._report_s)
        for event in self.host.events():
            key = (event["replica"], event["type"])
            if now - self._sent.get(key, -patience) >= patience:
                self._sent[key] = now
                writer.write(protocol.control(event))

    # -- lease

    def _renew(self, sent_us: int) -> None:
        """Counts from when we asked, not from when the answer came: never later than the server counts."""
        until = sent_us + int(self._lease_s * 1e6)
        self._until = until if self._until is None else max(until, self._until)
        self.host.renew(self._until)

    async def _watch_lease(self) -> None:
        while True:
            left = 1.0 if self._until is None else (self._until - boottime.now_us()) / 1e6
            await asyncio.sleep(max(0.2, left))
            if self._until is not None and boottime.now_us() > self._until:
                self.host.fence()

    def _until_was_extended(self) -> bool:
        return self._until is not None and self._until - boottime.now_us() > self._lease_s * 0.9e6

    def _is_hopeless(self, error: Refused) -> bool:
        """A node that was never in and is refused for what will not change. What runs here is not given up on."""
        return error.code not in PASSING and not self.welcomed.is_set() and not self.host.replicas()

    def _try_token(self) -> bool:
        """A credential that is no longer good may be replaced by a token that is."""
        if self.access.credential and self.access.token:
            self.access.credential = None
            return True
        return False
