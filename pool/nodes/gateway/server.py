"""The gateway: agents dial in, everything they say is checked, and nothing here waits for the database."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import structlog
from django.db import DatabaseError

from console.common import clock
from console.common.errors import WeirError
from pool.agent import protocol
from pool.agent.protocol import LogPiece, ProtocolError, Report
from pool.nodes.frames import run_frames
from pool.nodes.gateway.connection import Connection, Hello, parse, read_hello, refuse
from pool.nodes.gateway.database import DatabaseThread, summary, summary_of_writes
from pool.nodes.gateway.delivery import Delivery
from pool.nodes.gateway.doors import Doors
from pool.nodes.gateway.keeper import checkpoint, warm
from pool.nodes.gateway.life import Life
from pool.nodes.gateway.live import Live
from pool.nodes.gateway.logroom import Logroom
from pool.nodes.gateway.measures import Measures
from pool.nodes.gateway.newsroom import Newsroom
from pool.nodes.gateway.reconciler import Reconciler
from pool.nodes.options import GatewayOptions
from pool.nodes.services import Knock, close_session, take_writes

log = structlog.get_logger(__name__)
ROUND_S = 1.0
STATS_S = 60.0
TELL_S = 0.1
CHECKPOINT_S, CHECKPOINT_WARMS = 10.0, 5


class Gateway:
    """`run` serves until `stop` is called, or raises what broke."""

    def __init__(self, options: GatewayOptions, valkey_url: str, *, frames: bool = True) -> None:
        self.options, self._frames = options, frames
        self.connections: dict[int, Connection] = {}
        self.ready = asyncio.Event()
        self.port = options.port
        self._stop = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()
        self._news_of: set[str] = set()  # jobs whose pages want to know
        # lines to the database: ends of work must not wait behind output, nor joins hold up either
        self.urgent, self.bulk, self.doors, self.keeper = map(DatabaseThread, ("urgent", "bulk", "doors", "keeper"))
        self.live = Live(valkey_url)
        self.newsroom = Newsroom(self.urgent, self._tell_job)
        self.delivery = Delivery(self.urgent, self.connections)
        self.logroom = Logroom(self.bulk, options.log_bytes, self._tell_job)
        self.measures = Measures(self.bulk, self.live)
        self.reconciler = Reconciler(self.bulk, self.live)
        self.entrance = Doors(self.doors, options.stale_s)
        self.life = Life(options, self.bulk, self.live, self.connections)

    def stop(self) -> None:
        self._stop.set()

    async def run(self) -> None:
        """Raises OSError when the address cannot be had."""
        server = await asyncio.start_server(
            self._serve, self.options.host, self.options.port, ssl=self.options.tls(), backlog=1024
        )
        self.port = server.sockets[0].getsockname()[1]
        log.info("gateway_listens", host=self.options.host, port=self.port)
        self.ready.set()
        try:
            async with asyncio.TaskGroup() as group:
                works = [group.create_task(work) for work in self._works()]
                await self._stop.wait()
                server.close()
                self.entrance.close()
                await _end(works)
        finally:
            await self._shut(server)

    def _works(self) -> list[Coroutine[Any, Any, None]]:
        works = [
            self.entrance.run(),
            self.newsroom.run(),
            self.delivery.run(),
            self.logroom.run(),
            self._rounds(),
            self._listen_for_commands(),
            self._tell_stats(),
            self._keep_log_short(),
        ]
        return [*works, run_frames(self._stop)] if self._frames else works

    async def _shut(self, server: asyncio.Server) -> None:
        server.close()
        self.entrance.close()
        for connection in list(self.connections.values()):
            connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                while self.connections:
                    await asyncio.sleep(0.01)
        for thread in (self.urgent, self.bulk, self.doors, self.keeper):
            await thread.close()
        await self.live.close()

    # -- one connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = str((writer.get_extra_info("peername") or ("",))[0])
        connection = None
        try:
            hello = await read_hello(reader, address)
            connection = await self._let_in(hello, reader, writer)
            await self._welcome(connection)
            await self._converse(connection, reader)
        except (ProtocolError, WeirError) as error:
            name = connection.session.name if connection else ""
            log.warning("agent_refused", address=address, node=name, error=str(error))
            refuse(writer, error)
        except (OSError, EOFError, TimeoutError, DatabaseError) as error:
            log.info("agent_gone", address=address, error=repr(error))
        finally:
            writer.close()
            if connection is not None:
                await self._part(connection)

    async def _let_in(self, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
        session = await self.entrance.let_in(Knock(hello.message, hello.address), reader)
        connection = Connection(session, writer, hello.memory_mib, clock.now(), hello.replicas, indexes=hello.indexes)
        older = self.connections.get(session.node_id)
        if older is not None and older.session.number > session.number:
            raise ProtocolError("a newer connection of this node has taken over")
        self.connections[session.node_id] = connection
        if older is not None:
            older.close()
        return connection

    async def _welcome(self, connection: Connection) -> None:
        session = connection.session
        connection.send(
            {
                "type": "welcome",
                "credential": session.credential,
                "node": session.node_public_id,
                "session": session.number,
                "lease_s": self.options.lease_s,
                "report_s": self.options.report_s,
            }
        )
        log.debug("node_connected", node=session.name, session=session.number)
        await self.reconciler.greet(connection)
        self.delivery.wake([session.node_id])

    async def _converse(self, connection: Connection, reader: asyncio.StreamReader) -> None:
        while True:
            kind, body = await protocol.read_frame(reader)
            said = parse(kind, body)
            if isinstance(said, Report):
                self._on_report(connection, said)
            elif isinstance(said, LogPiece):
                await self.logroom.put(connection, said)
            else:
                await self._on_news(connection, said)

    def _on_report(self, connection: Connection, report: Report) -> None:
        connection.take(report, clock.now())
        self.measures.take(connection, report.devices)
        if self.life.may_renew():
            connection.send({"type": "lease", "seq": report.seq})

    async def _on_news(self, connection: Connection, message: dict[str, Any]) -> None:
        unknown_time = message["type"] != "ack" and message["age_us"] is None
        proof_at = await self.reconciler.proof_of(connection) if unknown_time else None
        self.newsroom.put(connection, connection.news(message, proof_at))

    async def _part(self, connection: Connection) -> None:
        if self.connections.get(connection.node_id) is connection:
            del self.connections[connection.node_id]
        self.reconciler.forget(connection)
        session = connection.session
        try:
            await self.doors.run(close_session, session.node_id, session.number, connection.last_report_at)
        except (DatabaseError, RuntimeError) as error:
            log.warning("end_of_session_not_stored", node=session.name, error=str(error))

    # -- all of them

    async def _rounds(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + ROUND_S
            reported = await self.measures.round()
            await self.reconciler.round(reported)
            await self.life.round(reported)
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _listen_for_commands(self) -> None:
        async for node_ids in self.live.wakes():
            self.delivery.wake(node_ids)

    async def _keep_log_short(self) -> None:
        while await self.keeper.run(checkpoint):
            for _ in range(CHECKPOINT_WARMS):
                await self.keeper.run(warm)
                await asyncio.sleep(CHECKPOINT_S / CHECKPOINT_WARMS)

    async def _tell_stats(self) -> None:
        while True:
            await asyncio.sleep(STATS_S)
            self.tell_stats()

    def tell_stats(self, *, asked: bool = False) -> None:
        """One line with how long the database took since the last such line, in milliseconds."""
        threads = (self.urgent, self.bulk, self.doors)
        waited = {name: summary(took) for thread in threads for name, took in thread.timings().items()}
        held = {name: summary_of_writes(writes) for name, writes in take_writes().items()}
        log.info("gateway_stats", nodes=len(self.connections), asked=asked, calls_ms=waited, writes_ms=held)

    def _tell_job(self, job: str) -> None:
        """A little later, once for all that happens to it meanwhile: start, confirmation and first output are one."""
        if not self._news_of:
            task = asyncio.create_task(self._tell_jobs())
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        self._news_of.add(job)

    async def _tell_jobs(self) -> None:
        await asyncio.sleep(TELL_S)
        jobs, self._news_of = self._news_of, set()
        for job in jobs:
            await self.live.tell_job(job)


async def _end(works: list[asyncio.Task[None]]) -> None:
    """The client of Valkey swallows a cancellation that comes while it connects: whoever goes on is told again."""
    going = set(works)
    while going:
        for work in going:
            work.cancel()
        _, going = await asyncio.wait(going, timeout=1.0)
