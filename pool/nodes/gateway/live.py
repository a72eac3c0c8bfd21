"""The gateway's client of Valkey. Valkey may be away or flushed at any time: that costs freshness, nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import orjson
import structlog
from channels.layers import get_channel_layer
from redis import asyncio as valkey
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from pool.nodes import telemetry
from pool.scheduling.wake import COMMANDS_CHANNEL

log = structlog.get_logger(__name__)
_AWAY = (RedisError, OSError, TimeoutError)
RETRY_S = 1.0


class Live:
    def __init__(self, url: str) -> None:
        # the library's own retries wait for seconds; ours is the next round
        once = Retry(NoBackoff(), 0)
        pool = valkey.BlockingConnectionPool.from_url(
            url, max_connections=4, timeout=5, socket_timeout=2, socket_connect_timeout=2, retry=once
        )
        self._client = valkey.Redis(connection_pool=pool)
        self._listener = valkey.Redis.from_url(url, socket_connect_timeout=2, retry=once)

    async def put(self, values: Mapping[str, bytes]) -> bool:
        """All in one command. False: Valkey is away."""
        if not values:
            return True
        try:
            await self._client.mset(dict(values))
        except _AWAY as error:
            log.warning("telemetry_not_stored", nodes=len(values), error=str(error))
            return False
        return True

    async def last_seen(self, node_ids: Sequence[int]) -> dict[int, datetime]:
        """When the last reports of nodes came, as far as Valkey knows."""
        if not node_ids:
            return {}
        try:
            values = await self._client.mget(telemetry.keys(node_ids))
        except _AWAY as error:
            log.warning("proof_of_life_not_read", error=str(error))
            return {}
        return telemetry.times(zip(node_ids, values, strict=True))

    async def tell_job(self, job: str) -> None:
        """Wakes whoever looks at the page of a job; a lost one costs a few seconds of delay."""
        layer = get_channel_layer()
        try:
            await layer.group_send(f"job.{job}", {"type": "job.news"})
        except _AWAY as error:
            log.warning("job_news_not_sent", error=str(error))

    async def wakes(self) -> AsyncIterator[list[int]]:
        """Node ids that have new commands, for ever; nothing while Valkey is away."""
        while True:
            try:
                async with self._listener.pubsub() as channel:
                    await channel.subscribe(COMMANDS_CHANNEL)
                    async for message in channel.listen():
                        if message["type"] == "message":
                            yield _node_ids(message["data"])
            except _AWAY as error:
                log.warning("command_wakes_interrupted", error=str(error))
            await asyncio.sleep(RETRY_S)

    async def close(self) -> None:
        for client in (self._client, self._listener):
            with contextlib.suppress(*_AWAY):
                await client.aclose()


def _node_ids(data: bytes) -> list[int]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return []
    return [item for item in value if isinstance(item, int)] if isinstance(value, list) else []
