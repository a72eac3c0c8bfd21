"""The agent's hold on one replica: its folder, its shim, what of its output the server has."""

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pool.agent import boottime, capped, processes, protocol, records, shim
from pool.agent.host import Save
from pool.agent.protocol import State

ROOT: Final = Path(__file__).resolve().parents[2]
WINDOW: Final = 4 * protocol.LOG_CHUNK  # output on its way and not yet confirmed
LAUNCH_S: Final = 30.0


class Replica:
    """`changed` is called when there is an event or output to send."""

    def __init__(self, ident: str, folder: Path, changed: Callable[["Replica"], None]) -> None:
        self.ident, self.folder, self.changed = ident, folder, changed
        self.work: dict[str, Any] = records.read(folder / "work.json") or {}
        self.lock = asyncio.Lock()  # start and stop of one replica happen in their order
        self.state = State.STARTING
        self.exit: dict[str, Any] | None = None
        self.noted: set[str] = set()
        self.saved = 0  # number of the checkpoint that the server knows
        stored = records.read(folder / "sent.json") or {}
        self.stored = {name: int(stored.get(name, 0)) for name in shim.STREAMS}
        self.sent = dict(self.stored)
        self._unread = True  # there may be output that was not read yet
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None

    # -- life

    async def launch(self) -> None:
        """Starts the shim, which returns once the command runs or is known not to; then listens to it."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-S", "-E", "-m", "pool.agent.shim", str(self.folder)),
                cwd=ROOT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=open(self.folder / "shim.err", "ab"),  # noqa: SIM115, ASYNC230 (closed with the child)
                start_new_session=True,
            )
            async with asyncio.timeout(LAUNCH_S):
                code = await process.wait()
        except (OSError, TimeoutError) as error:
            self.close("start_failed", f"the shim did not start: {error!r}", boottime.now_us())
            return
        if code != 0 and not (self.folder / "started.json").exists():
            self.close("start_failed", f"the shim did not start: {self._last_words()}", boottime.now_us())
            return
        await self.attach(absent=False)

    async def attach(self, *, absent: bool) -> None:
        """Takes a running shim over, or finds out how it ended. `absent`: we did not watch it until now."""
        if self._adopt_end():
            return
        try:
            reader, self._writer = await self._connect()
        except OSError:
            if not self._adopt_end():
                await self._end_orphans(None if absent else boottime.now_us())
            return
        if self.state is State.STARTING:
            self.state = State.RUNNING
        self._unread = True
        self._listener = asyncio.create_task(self._listen(reader))
        self.changed(self)

    def was_launched(self) -> bool:
        return (self.folder / "started.json").exists() or (self.folder / "exit.json").exists()

    async def stop(self, grace_s: float, reason: str, save: Save | None = None) -> None:
        if self.state is State.EXITED or self._writer is None:
            return
        self.state = State.STOPPING
        order: dict[str, Any] = {"do": "stop", "grace_s": grace_s, "reason": reason}
        if save is not None:
            order |= {"signal": save.signal, "signal_s": save.seconds}
        with contextlib.suppress(OSError):
            self._writer.write(json.dumps(order).encode() + b"\n")
            await self._writer.drain()

    def close(self, cause: str, detail: str, at_us: int | None, code: int | None = None) -> None:
        """Records an end that no shim could record. `at_us` None: nobody knows when."""
        self._end({"exit_code": code, "cause": cause, "detail": detail, "at_us": at_us})
        with contextlib.suppress(OSError):
            records.write(self.folder / "exit.json", {**(self.exit or {}), "boot_id": boottime.boot_id()})

    # -- what the server must hear

    def events(self) -> list[dict[str, Any]]:
        found = []
        started = records.read(self.folder / "started.json") if "started" not in self.noted else None
        if started and "exited" not in self.noted:
            found.append({"type": "started", "replica": self.ident, "age_us": self._age(started)})
        if self.exit is not None and "exited" not in self.noted:
            found += self.checkpoint()  # what was saved last is told before the end
            found.append(
                {
                    "type": "exited",
                    "replica": self.ident,
                    "age_us": self._age(self.exit),
                    "exit_code": self.exit.get("exit_code"),
                    "detail": str(self.exit.get("detail", ""))[:200],
                    "cause": self.exit.get("cause", "lost"),
                }
            )
        return found

    def checkpoint(self) -> list[dict[str, Any]]:
        """Of the last checkpoint, if the server does not know it."""
        record = records.read(self.folder / "checkpoint.json")
        age = self._age(record) if record else None
        if record is None or age is None or record["at_us"] == self.saved:
            return []
        return [{"type": "checkpoint", "replica": self.ident, "age_us": age, "number": int(record["at_us"])}]

    def output(self) -> list[bytes]:
        """Log frames up to the window; moves `sent`."""
        frames: list[bytes] = []
        if not self._unread:
            return frames
        self._unread = False
        for stream in shim.STREAMS:
            while self.sent[stream] - self.stored[stream] < WINDOW:
                at, data = capped.read(self.folder / "out", stream, self.sent[stream], protocol.LOG_CHUNK)
                if not data:
                    break
                frames.append(protocol.pack_log(self.ident, stream, at, data))
                self.sent[stream] = at + len(data)
            else:
                self._unread = True  # the window is full
        return frames

    def logged(self, stream: str, offset: int) -> None:
        self.stored[stream] = max(self.stored[stream], offset)
        self.sent[stream] = max(self.sent[stream], offset)
        with contextlib.suppress(OSError):
            records.write(self.folder / "sent.json", self.stored)

    def rewind(self) -> None:
        self.sent = dict(self.stored)
        self._unread = True

    def is_done(self) -> bool:
        """Ended, and the server has the end and all output."""
        return "exited" in self.noted and self._output_is_stored()

    # -- inside

    def _output_is_stored(self) -> bool:
        out = self.folder / "out"
        return all(not capped.read(out, name, self.stored[name], 1)[1] for name in shim.STREAMS)

    def _age(self, record: dict[str, Any]) -> int | None:
        """Microseconds since it happened; None where that cannot be known."""
        if record.get("at_us") is None or record.get("boot_id", boottime.boot_id()) != boottime.boot_id():
            return None
        return max(0, boottime.now_us() - int(record["at_us"]))

    def _adopt_end(self) -> bool:
        record = records.read(self.folder / "exit.json")
        if record is not None:
            self._end(record)
            return True
        started = records.read(self.folder / "started.json")
        if started is not None and started.get("boot_id") != boottime.boot_id():
            self.close("lost", "the node was restarted", None)
            return True
        return False

    def _end(self, record: dict[str, Any]) -> None:
        if self.exit is None:
            self.exit, self.state, self._unread = record, State.EXITED, True
            self.changed(self)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        with shim.address(self.folder) as path:
            raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                raw.connect(path)
                raw.setblocking(False)
                return await asyncio.open_unix_connection(sock=raw)
            except OSError:
                raw.close()
                raise

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self.exit is None and (line := await reader.readline()):
                self._on_event(json.loads(line))
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self.exit is None and not self._adopt_end():
            await self._end_orphans(boottime.now_us())

    def _on_event(self, event: dict[str, Any]) -> None:
        if event["event"] == "exited":
            self._end(event)
        elif event["event"] == "output":
            self._unread = True
            self.changed(self)

    async def _end_orphans(self, at_us: int | None) -> None:
        """The shim was killed: what it left must not go on holding a device that nobody accounts for."""
        for _ in range(50):
            left = await asyncio.to_thread(processes.carrying, "WEIR_REPLICA", self.ident)
            if not left:
                break
            processes.signal_all(left, signal.SIGKILL)
            await asyncio.sleep(0.02)
        self.close("lost", "the process that kept it was killed", at_us)

    def _last_words(self) -> str:
        try:
            return (self.folder / "shim.err").read_text(errors="replace").strip().splitlines()[-1][:120]
        except (OSError, IndexError):
            return "no reason given"
