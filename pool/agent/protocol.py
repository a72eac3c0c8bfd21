"""The wire between an agent and the gateway: one TCP connection (TLS on request) that the agent opens.

A frame is a 4-byte big-endian length of its body, one byte for its kind, and the body:

- CONTROL: a JSON object with a `type` (messages.py lists every one);
- REPORT: the packed state of a node, sent every few seconds (`pack_report`);
- LOG: a 2-byte length, a JSON object {"replica", "stream", "offset"} of that length, then raw bytes.

Nothing in a frame is a time of day: events carry their age in microseconds when they are sent, so that the
clock of a node never matters. A frame that breaks a rule ends its connection and no other.
"""

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import orjson

VERSION: Final = 1
_HEAD: Final = struct.Struct("!IB")
_REPORT: Final = struct.Struct("<IHH")
_LOG: Final = struct.Struct("!H")


class Kind(IntEnum):
    CONTROL = 1
    REPORT = 2
    LOG = 3


class State(IntEnum):
    """What a node says of a replica that it knows."""

    STARTING = 1
    RUNNING = 2
    STOPPING = 3
    EXITED = 4


LIMITS: Final = {Kind.CONTROL: 1 << 20, Kind.REPORT: 1 << 18, Kind.LOG: 1 << 17}
LOG_CHUNK: Final = 64 * 1024
MAX_DEVICES: Final = 4096

# utilisation in 1/100 %, memory in MiB, temperature in 1/10 °C, power in W, flags: bit 0 is a fault
TELEMETRY: Final = np.dtype([("util", "<u2"), ("temp", "<u2"), ("power", "<u2"), ("flags", "<u2"), ("memory", "<u4")])
FLAG_FAULT: Final = 1


class ProtocolError(Exception):
    """The other side broke a rule; the message says which."""


@dataclass(frozen=True, slots=True)
class Report:
    """`devices`: TELEMETRY rows in the order of the hello's devices; `replicas`: (id, state)."""

    seq: int
    devices: np.ndarray[Any, np.dtype[Any]]
    replicas: list[tuple[str, State]]


@dataclass(frozen=True, slots=True)
class LogPiece:
    replica: str
    stream: str
    offset: int
    data: bytes


def frame(kind: Kind, body: bytes) -> bytes:
    """Raises ProtocolError for a body that the other side would refuse."""
    if len(body) > LIMITS[kind]:
        raise ProtocolError(f"a {kind.name} frame of {len(body)} bytes; at most {LIMITS[kind]} are allowed")
    return _HEAD.pack(len(body), kind) + body


def control(message: dict[str, Any]) -> bytes:
    return frame(Kind.CONTROL, orjson.dumps(message))


async def read_frame(reader: asyncio.StreamReader) -> tuple[Kind, bytes]:
    """The next frame. Raises ProtocolError, or IncompleteReadError at the end of the connection."""
    length, number = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    try:
        kind = Kind(number)
    except ValueError:
        raise ProtocolError(f"frame kind {number} is unknown") from None
    if length > LIMITS[kind]:
        raise ProtocolError(f"a {kind.name} frame of {length} bytes; at most {LIMITS[kind]} are allowed")
    return kind, await reader.readexactly(length)


def read_control(body: bytes) -> dict[str, Any]:
    """The JSON object of a control frame. Raises ProtocolError."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a message is a JSON object with a string `type`")
    return message


def pack_report(seq: int, devices: bytes, replicas: Sequence[tuple[str, int]]) -> bytes:
    """The frame of one report; `devices` is TELEMETRY rows as bytes."""
    count = len(devices) // TELEMETRY.itemsize
    parts = [_REPORT.pack(seq & 0xFFFFFFFF, count, len(replicas)), devices]
    for ident, state in replicas:
        name = ident.encode("ascii")
        parts.append(bytes((state, len(name))))
        parts.append(name)
    return frame(Kind.REPORT, b"".join(parts))


def read_report(body: bytes) -> Report:
    """Raises ProtocolError."""
    if len(body) < _REPORT.size:
        raise ProtocolError("a report is shorter than its header")
    seq, count, replicas = _REPORT.unpack_from(body)
    end = _REPORT.size + count * TELEMETRY.itemsize
    if len(body) < end:
        raise ProtocolError(f"a report names {count} devices and carries fewer")
    devices = np.frombuffer(body, TELEMETRY, count, _REPORT.size)
    if count and int(devices["util"].max()) > 10_000:
        raise ProtocolError("a utilisation above 100 %")
    return Report(seq, devices, _read_replicas(body, end, replicas))


def _read_replicas(body: bytes, at: int, count: int) -> list[tuple[str, State]]:
    found: list[tuple[str, State]] = []
    try:
        for _ in range(count):
            state, size = body[at], body[at + 1]
            name = body[at + 2 : at + 2 + size]
            if len(name) != size or not size:
                raise ProtocolError("a replica's id is cut short")
            found.append((name.decode("ascii"), State(state)))
            at += 2 + size
    except (IndexError, ValueError) as error:
        raise ProtocolError(f"a report's list of replicas is broken: {error}") from None
    if at != len(body):
        raise ProtocolError("a report carries bytes after its end")
    return found


def pack_log(replica: str, stream: str, offset: int, data: bytes) -> bytes:
    head = orjson.dumps({"replica": replica, "stream": stream, "offset": offset})
    return frame(Kind.LOG, _LOG.pack(len(head)) + head + data)


def read_log(body: bytes) -> LogPiece:
    """Raises ProtocolError."""
    if len(body) < _LOG.size:
        raise ProtocolError("a log frame is shorter than its header")
    (size,) = _LOG.unpack_from(body)
    start = _LOG.size + size
    try:
        head = orjson.loads(body[_LOG.size : start])
        replica, stream, offset = head["replica"], head["stream"], head["offset"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ProtocolError(f"the head of a log frame is broken: {error}") from None
    if not isinstance(replica, str) or stream not in ("stdout", "stderr"):
        raise ProtocolError("a log frame names no replica or no stream")
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset < 1 << 62:
        raise ProtocolError("the offset of a log frame is not a count of bytes")
    if len(body) - start > LOG_CHUNK:
        raise ProtocolError(f"a log piece is at most {LOG_CHUNK} bytes")
    return LogPiece(replica, stream, offset, body[start:])
