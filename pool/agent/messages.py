"""Every control message and its fields. What is not listed is ignored, what is listed is checked.

From an agent: `hello` (token to join, or credential), `ack` of a command, `started`, `exited`, and `checkpoint` (a
replica has saved its state; `number` names that checkpoint on its node).
From the gateway: `welcome`, `refused` (the connection ends), `start`, `stop` (with a `signal` to save upon, and the
seconds for it, before it ends), `lease` (the answer to a report), `noted` (a started, exited or the checkpoint of that
number is stored: do not send it again), `logged` (output is stored up to `offset`).
"""

from collections.abc import Callable
from typing import Any, Final

from pool.agent.protocol import ProtocolError

Check = Callable[[Any], bool]
_BIG: Final = 1 << 53


def _text(longest: int) -> Check:
    return lambda value: isinstance(value, str) and len(value) <= longest


def _whole(low: int, high: int = _BIG) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _number(low: float, high: float) -> Check:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _maybe(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _one_of(*words: str) -> Check:
    return lambda value: value in words


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


ID: Final = _text(64)
# why a replica ended: by itself, by a stop, by its lease, never started, or nothing on disk tells
CAUSES: Final = ("exit", "stop", "lease", "start_failed", "lost")
SIGNALS: Final = ("USR1", "USR2", "HUP", "INT", "TERM")  # upon which a job may be asked to save

FROM_AGENT: Final[dict[str, dict[str, Check]]] = {
    "hello": {
        "version": _whole(0, 1 << 16),
        "token": _maybe(_text(200)),
        "credential": _maybe(_text(200)),
        "agent": _text(32),
        "driver": _text(32),
        "site": _text(64),
        "node": _object,
        "replicas": _objects,
    },
    "ack": {"command": ID, "ok": _flag, "detail": _text(300)},
    "started": {"replica": ID, "age_us": _maybe(_whole(0))},
    "exited": {
        "replica": ID,
        "age_us": _maybe(_whole(0)),
        "exit_code": _maybe(_whole(-(1 << 31), 1 << 32)),
        "detail": _text(200),
        "cause": _one_of(*CAUSES),
    },
    "checkpoint": {"replica": ID, "age_us": _whole(0), "number": _whole(0)},
}
FROM_GATEWAY: Final[dict[str, dict[str, Check]]] = {
    "welcome": {
        "credential": _maybe(_text(200)),
        "node": ID,
        "session": _whole(0),
        "lease_s": _number(0.1, 86_400),
        "report_s": _number(0.05, 3_600),
    },
    "refused": {"code": _text(40), "message": _text(500)},
    "start": {"command": ID, "replica": ID, "work": _object},
    "stop": {
        "command": _maybe(ID),
        "replica": ID,
        "grace_s": _number(0, 3_600),
        "reason": _text(80),
        "signal": _maybe(_one_of(*SIGNALS)),
        "signal_s": _maybe(_number(0, 3_600)),
    },
    "lease": {"seq": _whole(0)},
    "noted": {"replica": ID, "event": _one_of("started", "exited", "checkpoint"), "number": _maybe(_whole(0))},
    "logged": {"replica": ID, "stream": _one_of("stdout", "stderr"), "offset": _whole(0)},
}
NODE: Final[dict[str, Check]] = {
    "name": _text(120),
    "cpu_milli": _whole(0, 1 << 31),
    "memory_mib": _whole(0, 1 << 40),
    "labels": _object,
    "pod": _maybe(_text(64)),
    "switch": _maybe(_text(64)),
    "rack": _maybe(_text(64)),
    "devices": _objects,
}
DEVICE: Final[dict[str, Check]] = {
    "index": _whole(0, 4096),
    "uuid": _text(80),
    "model": _text(64),
    "vendor": _text(32),
    "memory_mib": _whole(1, 1 << 31),
    "mig_enabled": _flag,
    "mig_family": _maybe(_text(64)),
    "nvlink_island": _whole(-1, 1 << 15),
    "numa_node": _whole(-1, 1 << 15),
    "pci_address": _text(32),
}
WORK: Final[dict[str, Check]] = {
    "job": _text(40),
    "command": _words,
    "environment": _object,
    "devices": _objects,
    "peers": _objects,
    "rank": _whole(0),
    "world_size": _whole(1),
    "grace_s": _number(0, 3_600),
}
_REPLICA: Final[dict[str, Check]] = {"replica": ID, "state": _whole(1, 4)}


def check(message: dict[str, Any], table: dict[str, dict[str, Check]]) -> str:
    """The message's type. Raises ProtocolError that names the field."""
    kind = str(message["type"])
    fields = table.get(kind)
    if fields is None:
        raise ProtocolError(f"message type {kind[:40]!r} is unknown")
    _check_fields(kind, message, fields)
    if kind == "hello":
        _check_hello(message)
    if kind == "start":
        _check_fields("start.work", message["work"], WORK)
    return kind


def _check_fields(where: str, value: dict[str, Any], fields: dict[str, Check]) -> None:
    for name, good in fields.items():
        if not good(value.get(name)):
            raise ProtocolError(f"{where}.{name}: {str(value.get(name))[:80]!r} is not allowed here")


def _check_hello(message: dict[str, Any]) -> None:
    node = message["node"]
    _check_fields("hello.node", node, NODE)
    if not node["name"]:
        raise ProtocolError("hello.node.name: must not be empty")
    for index, device in enumerate(node["devices"]):
        _check_fields(f"hello.node.devices[{index}]", device, DEVICE)
    for index, replica in enumerate(message["replicas"]):
        _check_fields(f"hello.replicas[{index}]", replica, _REPLICA)
