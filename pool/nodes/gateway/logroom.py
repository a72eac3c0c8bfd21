"""Output of replicas on its way to the database: many pieces a transaction, confirmed once stored."""

import asyncio
from collections.abc import Callable

import structlog
from django.db import DatabaseError

from pool.agent.protocol import LogPiece
from pool.nodes.gateway.connection import Connection
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.services import LogBook, WrongNode

log = structlog.get_logger(__name__)
QUEUE = 1000  # pieces; a node that floods waits here, and only its own reading stops
BATCH = 16  # pieces of one transaction


class Logroom:
    def __init__(self, database: DatabaseThread, most: int, tell_job: Callable[[str], None]) -> None:
        self._database, self._tell_job = database, tell_job
        self._book = LogBook(most)
        self._queue: asyncio.Queue[tuple[Connection, LogPiece]] = asyncio.Queue(QUEUE)

    async def put(self, connection: Connection, piece: LogPiece) -> None:
        await self._queue.put((connection, piece))

    async def run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            pieces: dict[Connection, list[LogPiece]] = {}
            for connection, piece in batch:
                pieces.setdefault(connection, []).append(piece)
            for connection, mine in pieces.items():
                await self._store(connection, mine)

    async def _store(self, connection: Connection, pieces: list[LogPiece]) -> None:
        try:
            stored = await self._database.run(self._book.store, connection.node_id, pieces)
        except WrongNode as error:
            log.warning("output_refused", node=connection.session.name, error=str(error))
            connection.close()
            return
        except DatabaseError as error:
            # not confirmed: a new connection sends it again
            log.warning("output_not_stored", node=connection.session.name, error=str(error))
            connection.close()
            return
        for item in stored:
            connection.send({"type": "logged", "replica": item.replica, "stream": item.stream, "offset": item.offset})
        for job in {item.job for item in stored if item.job}:
            self._tell_job(job)
