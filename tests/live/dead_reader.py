"""A browser that has stopped reading: a bare socket with a small window, after a good handshake."""

import base64
import os
import socket


class DeadReader:
    def __init__(self, host: str, path: str, headers: dict[str, str]) -> None:
        name, port = host.split(":")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # before connect: it bounds the window
        self._socket.settimeout(20)
        self._socket.connect(("127.0.0.1", int(port)))
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {host}",
            f"Origin: http://{host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            *[f"{key}: {value}" for key, value in headers.items()],
        ]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._socket.recv(1)
        if not self._rest.startswith(b"HTTP/1.1 101"):
            raise AssertionError(self._rest[:80])
        self._rest = b""

    def next(self) -> bytes:
        """Wakes up for one binary message (RFC 6455 frames of a server carry no mask)."""
        while True:
            kind, size = self._take(2)
            size &= 127
            if size == 126:
                size = int.from_bytes(self._take(2), "big")
            elif size == 127:
                size = int.from_bytes(self._take(8), "big")
            data = self._take(size)
            if kind & 15 == 2:
                return data

    def close(self) -> None:
        self._socket.close()

    def _take(self, count: int) -> bytes:
        while len(self._rest) < count:
            piece = self._socket.recv(65536)
            if not piece:
                raise ConnectionError("the server closed the connection")
            self._rest += piece
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken
