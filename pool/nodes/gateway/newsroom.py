"""Started, exited, checkpoints and acks: applied in order, many in one transaction under load, confirmed once stored.

What cannot be stored is not confirmed, and the agent says it again.
"""

import asyncio
from collections.abc import Callable

import structlog
from django.db import DatabaseError, connection

from console.common.errors import WeirError
from pool.nodes.gateway.connection import Connection
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.services import News, StaleSession, WrongNode, apply_news

log = structlog.get_logger(__name__)
# of one transaction: about two milliseconds on SQLite, where it keeps out all other writers
BATCH = {"sqlite": 4, "postgresql": 32}
Item = tuple[Connection, News]


class Newsroom:
    def __init__(self, database: DatabaseThread, tell_job: Callable[[str], None]) -> None:
        self._database = database
        self._queue: asyncio.Queue[Item] = asyncio.Queue()
        self._tell_job = tell_job
        self._most = BATCH[connection.vendor]

    def put(self, connection: Connection, news: News) -> None:
        self._queue.put_nowait((connection, news))

    async def run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < self._most and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            await self._apply(batch)

    async def _apply(self, batch: list[Item]) -> None:
        try:
            jobs = await self._database.run(apply_news, [news for _, news in batch])
        except (DatabaseError, WeirError, KeyError, ValueError) as error:
            if len(batch) == 1:
                self._refuse(*batch[0], error)
                return
            for item in batch:  # one bad item must not hold up the rest
                await self._apply([item])
            return
        for speaker, news in batch:
            kind = news.message["type"]
            if kind != "ack":
                number = {"number": news.message["number"]} if kind == "checkpoint" else {}
                speaker.send({"type": "noted", "replica": news.message["replica"], "event": kind, **number})
        for job in jobs:
            self._tell_job(job)

    def _refuse(self, connection: Connection, news: News, error: Exception) -> None:
        log.warning("news_refused", node=connection.session.name, kind=news.message["type"], error=str(error))
        if isinstance(error, StaleSession | WrongNode):
            connection.close()
