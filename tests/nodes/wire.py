"""An agent made of bytes: says exactly what a test wants, right or wrong."""

import socket
import struct
import time
from typing import Any

import numpy as np
import orjson

from pool.agent import protocol
from pool.agent.protocol import Kind, State
from pool.agent.simulated import make_devices
from tests.nodes.running import PATIENCE_S


class Wire:
    """One connection. `receive` returns control messages; leases are passed over unless asked for."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self._rest = b""

    def send(self, message: dict[str, Any]) -> None:
        self.socket.sendall(protocol.control(message))

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def hello(self, node: str = "wire-1", *, devices: int = 2, replicas: dict[str, int] | None = None, **more: Any):
        """Says hello and returns the answer: welcome or refused."""
        facts = {"name": node, "cpu_milli": 64_000, "memory_mib": 262_144, "labels": {}}
        facts |= {"pod": None, "switch": None, "rack": "r01"}
        facts["devices"] = [fact.as_message() for fact in make_devices(node, devices, "H100-80GB")]
        message = {
            "type": "hello",
            "version": protocol.VERSION,
            "token": None,
            "credential": None,
            "agent": "test",
            "driver": "simulated",
            "site": "",
            "node": facts,
            "replicas": [{"replica": name, "state": state} for name, state in (replicas or {}).items()],
            **more,
        }
        self.send(message)
        return self.receive()

    def report(self, replicas: dict[str, int] | None = None, *, devices: int = 2, seq: int = 1, **columns: Any) -> None:
        rows = np.zeros(devices, protocol.TELEMETRY)
        for name, value in columns.items():
            rows[name] = value
        self.raw(protocol.pack_report(seq, rows.tobytes(), list((replicas or {}).items())))

    def exited(self, replica: str, code: int | None = 0, age_us: int | None = 0, cause: str = "exit") -> None:
        body = {"replica": replica, "age_us": age_us, "exit_code": code, "detail": "", "cause": cause}
        self.send({"type": "exited", **body})

    def receive(self, *, leases: bool = False) -> dict[str, Any]:
        """Raises EOFError when the gateway has hung up."""
        while True:
            length, kind = struct.unpack("!IB", self._exactly(5))
            message = orjson.loads(self._exactly(length))
            assert kind == Kind.CONTROL
            if leases or message["type"] != "lease":
                return dict(message)

    def until(self, kind: str, seconds: float = PATIENCE_S) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self.receive(leases=True)
            if message["type"] == kind:
                return message
        raise AssertionError(f"no {kind} within {seconds} s")

    def is_hung_up(self) -> bool:
        """Reads to the end; True when the gateway ended the connection."""
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        self.socket.close()

    def _exactly(self, count: int) -> bytes:
        while len(self._rest) < count:
            data = self.socket.recv(65_536)
            if not data:
                raise EOFError
            self._rest += data
        found, self._rest = self._rest[:count], self._rest[count:]
        return found


RUNNING = int(State.RUNNING)
