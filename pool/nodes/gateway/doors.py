"""Where nodes wait to be let in: in order, many in one transaction, and nobody for whom it is too late."""

import asyncio
from dataclasses import dataclass

import structlog
from django.db import DatabaseError

from console.common import clock
from console.common.errors import WeirError
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.services import Knock, Session, open_sessions

log = structlog.get_logger(__name__)
BATCH = 4  # each is a write transaction: SQLite lets nobody else write meanwhile
_EXPECTED = (WeirError, DatabaseError)


@dataclass(frozen=True, slots=True)
class Guest:
    knock: Knock
    reader: asyncio.StreamReader
    answer: "asyncio.Future[Session]"

    @property
    def has_left(self) -> bool:
        """Its connection is gone, or nobody waits for the answer: letting it in would only hold up the others."""
        return self.answer.done() or self.reader.at_eof() or self.reader.exception() is not None


class Doors:
    def __init__(self, database: DatabaseThread, stale_s: float) -> None:
        self._database, self._stale_s = database, stale_s
        self._queue: asyncio.Queue[Guest] = asyncio.Queue()
        self._closed = False

    async def let_in(self, knock: Knock, reader: asyncio.StreamReader) -> Session:
        """Raises Refusal, InvalidInput, DatabaseError, EOFError."""
        if self._closed:
            raise EOFError("the gateway is stopping")
        answer: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(Guest(knock, reader, answer))
        return await answer

    def close(self) -> None:
        """Whoever still waits is told that nobody lets it in here any more."""
        self._closed = True
        while not self._queue.empty():
            guest = self._queue.get_nowait()
            if not guest.answer.done():
                guest.answer.set_exception(EOFError("the gateway is stopping"))

    async def run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            present = []
            for guest in batch:
                if not guest.has_left:
                    present.append(guest)
                elif not guest.answer.done():
                    guest.answer.set_exception(EOFError("gone before it was let in"))
            if present:
                await self._open(present)

    async def _open(self, guests: list[Guest]) -> None:
        try:
            sessions = await self._database.run(
                open_sessions, [guest.knock for guest in guests], clock.now(), self._stale_s
            )
        except _EXPECTED as error:
            if len(guests) > 1:  # one that is refused must not shut the others out
                for guest in guests:
                    await self._open([guest])
            elif not guests[0].answer.done():
                guests[0].answer.set_exception(error)
            return
        for guest, session in zip(guests, sessions, strict=True):
            if not guest.answer.done():
                guest.answer.set_result(session)
