"""A job's websocket: ws/jobs/<public id>/log/. News of the job, and the output of one of its replicas.

Query: `replica` (public id; default: rank 0 of the newest attempt), `stdout` and `stderr` (bytes that the page has
already; negative: only so many of the last), so that a page that comes back goes on where it stopped; `state` (of the
job as the page shows it: where it has changed meanwhile, that is told at once).

To the browser, as JSON text:
    {"type": "log", "replica", "stream", "offset", "next", "text"}   `next`: what to ask for when coming back
    {"type": "changed", "state", "event"}   the job or its timeline is not what it was: fetch it again
    {"type": "missing", "stream", "offset", "next"}   these bytes were lost on the way
Before each message the right to see the job is checked anew. The event on the Channels group is only a wake-up;
what is sent is read from the database, so a lost event costs at most POLL_SECONDS.
"""

import asyncio
from typing import Any
from urllib.parse import parse_qs

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from console.common.actor import Actor
from console.common.errors import NotFound
from pool.nodes import sockets
from pool.nodes.output import Output, last_bytes, replica_for
from pool.scheduling.models import JobEvent
from pool.scheduling.queries import job_for

BAD_REQUEST, LOST_RIGHT = 4400, 4403
POLL_SECONDS = 5.0
STREAMS = ("stdout", "stderr")


def group(public_id: str) -> str:
    """The Channels group on which news of a job is told (any message; its content is not read)."""
    return f"job.{public_id}"


class JobConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    async def connect(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._state: tuple[str, int] | None = None
        self._outputs: list[Output] = []
        self._public_id: str = self.scope["url_route"]["kwargs"]["public_id"]
        self._credential = sockets.credential_of(self.scope)
        query = parse_qs(self.scope["query_string"].decode("latin1"))
        if not await self._open(query):
            await self.close()  # not accepted yet: 403, for another's job as for one that does not exist
            return
        await self.accept()
        await self.channel_layer.group_add(group(self._public_id), self.channel_name)
        self._task = asyncio.create_task(self._run())

    async def disconnect(self, code: int) -> None:
        if self._task is not None:
            self._task.cancel()
            await self.channel_layer.group_discard(group(self._public_id), self.channel_name)

    async def dispatch(self, message: dict[str, Any]) -> None:
        if message["type"].startswith("websocket."):
            await super().dispatch(message)
        else:
            self._news.set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.close(code=BAD_REQUEST)  # this stream goes one way

    async def _open(self, query: dict[str, list[str]]) -> bool:
        actor = await self._actor()
        wanted = {stream: _offset(query.get(stream, ["0"])[0]) for stream in STREAMS}
        if actor is None or None in wanted.values():
            return False
        found = bool(await database_sync_to_async(self._find)(actor, query.get("replica", [""])[0], wanted))
        if self._state is not None and "state" in query:
            self._state = (query["state"][0], self._state[1])
        return found

    def _find(self, actor: Actor, replica_id: str, wanted: dict[str, int]) -> bool:
        try:
            job = job_for(actor, self._public_id)
            replica = replica_for(job, replica_id)
        except NotFound:
            return False
        self._state = self._state_of(actor)
        if replica is not None:
            self._outputs = [
                Output(replica, stream, last_bytes(replica, stream, -at) if at < 0 else at)
                for stream, at in wanted.items()
            ]
        return True

    async def _actor(self) -> Actor | None:
        actor = await sockets.actor_of(self._credential)
        return actor if actor is not None and actor.has_scope("jobs:read") else None

    async def _run(self) -> None:
        """Level-triggered: whatever woke us, send what is new since the last time."""
        while True:
            more = await self._tell()
            if more:
                continue
            try:
                # not wait_for: on Python 3.11 it may swallow the cancellation of a socket that closes
                async with asyncio.timeout(POLL_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                continue
            self._news.clear()

    async def _tell(self) -> bool:
        """One round; True: there is more output to read at once."""
        actor = await self._actor()
        news = None if actor is None else await database_sync_to_async(self._read)(actor)
        if news is None:
            await self.close(code=LOST_RIGHT)
            await asyncio.Event().wait()  # until disconnect cancels this task
            return False
        messages, more = news
        for message in messages:
            await self.send(text_data=orjson.dumps(message).decode())
        return bool(more)

    def _read(self, actor: Actor) -> tuple[list[dict[str, Any]], bool] | None:
        """(messages, whether a stream has more); None: the actor may no longer see this job."""
        try:
            state = self._state_of(actor)
        except NotFound:
            return None
        messages: list[dict[str, Any]] = []
        more = False
        for output in self._outputs:
            found, unfinished = output.read()
            messages += found
            more = more or unfinished
        if state != self._state:  # after the output: the last lines come before the end
            self._state = state
            messages.append({"type": "changed", "state": state[0], "event": state[1]})
        return messages, more

    def _state_of(self, actor: Actor) -> tuple[str, int]:
        job = job_for(actor, self._public_id)
        newest = JobEvent.objects.filter(job=job).order_by("-id").values_list("id", flat=True).first()
        return job.state, newest or 0


def _offset(text: str) -> int | None:
    try:
        value = int(text)
    except ValueError:
        return None
    return value if abs(value) < 2**53 else None
