"""Where the frame builder and the web processes meet in Valkey. All of it may be flushed at any time."""

from typing import Any

import orjson
import redis
from django.conf import settings

from pool.nodes.heatmap import codec

_PREFIX = "weir:heat:"
LAYOUT = _PREFIX + "layout"
SUMMARY = _PREFIX + "summary"
FRAME_SECONDS = 30  # how long a full frame may be handed to a browser that has just come
WANT_SECONDS = 15  # a layer is built as long as someone asked for it this lately


def frame_key(layer: str) -> str:
    return f"{_PREFIX}frame:{layer}"


def want_key(layer: str) -> str:
    return f"{_PREFIX}want:{layer}"


def client() -> redis.Redis:
    """A client of its own: the frame builder works in one thread."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


def wanted(valkey: redis.Redis) -> list[str]:
    """Layers that a browser is looking at, and the marks if there is any browser at all."""
    asked: list[Any] = valkey.mget([want_key(layer) for layer in codec.VALUE_LAYERS])
    layers = [layer for layer, flag in zip(codec.VALUE_LAYERS, asked, strict=True) if flag is not None]
    return [*layers, "marks"] if layers else []


def read_summary(valkey: redis.Redis) -> dict[str, Any] | None:
    """The last summary (planes.Summary as a dict), at most FRAME_SECONDS old; None: no builder is running."""
    data: Any = valkey.get(SUMMARY)
    return None if data is None else orjson.loads(data)
