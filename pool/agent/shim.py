"""The small process that a replica runs under: `python -m pool.agent.shim FOLDER`.

It outlives the agent, so that work does, and leaves on disk what the next agent must know:

    spec.json      written by the agent: argv, env, cwd, grace_s, lease (path of the node's lease file)
    started.json   pid of the command, of the shim, boot id, microseconds since boot
    checkpoint.json  microseconds since boot when the command last wrote or touched its checkpoint file
    exit.json      exit code, cause, detail, microseconds since boot of the end
    control        unix socket: tells an agent of output and of the end, and takes a stop
    out/           what the command wrote (capped.py)

It ends the whole tree of processes, not only the command: TERM, grace, KILL. Told so, it first signals the command's
process group to save its state, and goes on when the checkpoint file was written or the time for it is over: what
ends meanwhile was stopped, not finished. When the lease file is not
renewed it does so by itself: without a control plane nobody may go on holding a device.
Standard library only: one shim is one small interpreter.
"""

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pool.agent import boottime, capped, processes, records

TICK_S = 0.5
SAVING_TICK_S = 0.05
LEASE_GRACE_S = 2.0  # after the lease the server may give the device away: be quick
OUTPUT_NEWS_S = 0.1  # a line at a time would be a row at a time
READ = 1 << 16
STREAMS = ("stdout", "stderr")


class Shim:
    def __init__(self, folder: Path) -> None:
        spec = records.read(folder / "spec.json")
        if spec is None:
            raise SystemExit(f"{folder}/spec.json: missing or broken")
        self.folder, self.spec = folder, spec
        self.boot = boottime.boot_id()
        self.pid = 0
        self.code: int | None = None  # of the command, once it has ended
        self.cause, self.detail = "exit", ""
        self.kill_at: int | None = None
        self.saving: tuple[int, float] | None = None  # until when it may save, and the grace of the stop after that
        self.written: tuple[int, ...] | None = None  # the checkpoint file as it was last seen
        self.lease_until: int | None = None
        self.clients: set[socket.socket] = set()
        self.logs = {name: capped.Writer(folder / "out", name) for name in STREAMS}
        self.pipes: dict[str, int] = {}
        self.told: dict[str, int] = {}
        self.poll = selectors.DefaultSelector()

    # -- life

    def start(self) -> None:
        (self.folder / "out").mkdir(exist_ok=True)
        self._listen()
        self._watch_children()
        processes.adopt_orphans()
        ends = {name: os.pipe() for name in STREAMS}
        pid, problem = processes.spawn(
            self.spec["argv"], self.spec["env"], self.spec["cwd"], ends["stdout"][1], ends["stderr"][1]
        )
        for name, (reading, writing) in ends.items():
            os.close(writing)
            os.set_blocking(reading, False)
            self.pipes[name] = reading
            self.poll.register(reading, selectors.EVENT_READ, name)
        if problem:
            self.code, self.cause, self.detail = 127, "start_failed", problem
            return
        self.pid = pid
        now = boottime.now_us()
        facts = {"pid": pid, "shim": os.getpid(), "boot_id": self.boot, "at_us": now}
        records.write(self.folder / "started.json", facts)

    def run(self) -> None:
        alive = self.pid != 0
        while alive:
            for key, _ in self.poll.select(self._timeout()):
                self._on_ready(key)
            alive = self._reap()
            self._check_checkpoint()
            self._check_lease()
            self._check_deadline()
            self._tell_output()
        self._finish()

    def _timeout(self) -> float:
        if any(self.logs[name].end != self.told.get(name, 0) for name in STREAMS) and self.clients:
            return OUTPUT_NEWS_S
        if self.kill_at is None:
            return TICK_S if self.saving is None else SAVING_TICK_S
        return max(0.0, min(TICK_S, (self.kill_at - boottime.now_us()) / 1e6))

    def _finish(self) -> None:
        self._check_checkpoint()  # what it wrote in its last moment
        for name in STREAMS:
            self._drain(name)
            self.logs[name].close()
        record = {
            "exit_code": self.code,
            "cause": self.cause,
            "detail": self.detail,
            "boot_id": self.boot,
            "at_us": boottime.now_us(),
        }
        # a full disk must not hide the end from an agent that listens
        with contextlib.suppress(OSError):
            records.write(self.folder / "exit.json", record)
        self._tell_output()
        self._tell({"event": "exited", **record})
        with contextlib.suppress(OSError):
            (self.folder / "control").unlink()

    # -- children

    def _watch_children(self) -> None:
        reading, writing = os.pipe()
        for end in (reading, writing):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._stop("stop", "the shim was told to end", None))
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        self.poll.register(reading, selectors.EVENT_READ, "signal")

    def _reap(self) -> bool:
        ended, left = processes.reap()
        if self.pid in ended:
            self.code = ended[self.pid]
            if left:  # what the command left behind has nothing to run for
                processes.signal_all(processes.descendants(os.getpid()), signal.SIGKILL)
        return left

    def _stop(self, cause: str, detail: str, grace_s: float | None) -> None:
        if self.code is not None:
            return
        if self.kill_at is None:
            self.cause, self.detail = cause, detail
            processes.signal_all(processes.descendants(os.getpid()), signal.SIGTERM)
        self.saving = None
        grace = float(self.spec.get("grace_s", 10)) if grace_s is None else grace_s
        at = boottime.now_us() + int(grace * 1e6)
        self.kill_at = at if self.kill_at is None else min(self.kill_at, at)

    def _save(self, number: int, seconds: float, grace_s: float, reason: str) -> None:
        """Asks the command's group to save. Asked again while it saves, nothing changes."""
        if self.code is not None or self.saving is not None or self.kill_at is not None:
            return
        self.cause, self.detail = "stop", reason
        self.saving = boottime.now_us() + int(seconds * 1e6), grace_s
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _check_checkpoint(self) -> None:
        path = self.spec.get("checkpoint")
        try:
            seen = os.stat(path) if path else None
        except OSError:
            seen = None
        if seen is not None and self.written != (seen.st_mtime_ns, seen.st_size, seen.st_ino):
            self.written = seen.st_mtime_ns, seen.st_size, seen.st_ino
            with contextlib.suppress(OSError):  # a full disk: the checkpoint is not known, the work goes on
                records.write(self.folder / "checkpoint.json", {"boot_id": self.boot, "at_us": boottime.now_us()})
            if self.saving is not None:
                self.saving = 0, self.saving[1]
        if self.saving is not None and boottime.now_us() >= self.saving[0]:
            self._stop(self.cause, self.detail, self.saving[1])

    def _check_deadline(self) -> None:
        if self.kill_at is not None and boottime.now_us() >= self.kill_at:
            processes.signal_all(processes.descendants(os.getpid()), signal.SIGKILL)
            self.kill_at = boottime.now_us() + 200_000  # again for what was forked meanwhile

    def _check_lease(self) -> None:
        lease = records.read(Path(self.spec["lease"])) if self.spec.get("lease") else None
        if lease and lease.get("boot_id") == self.boot:
            self.lease_until = int(lease["until_us"])
        if self.lease_until is not None and boottime.now_us() > self.lease_until:
            grace = min(float(self.spec.get("grace_s", 10)), LEASE_GRACE_S)
            self._stop("lease", "the node's lease ran out without an answer of the server", grace)

    # -- output

    def _drain(self, name: str) -> None:
        pipe = self.pipes.get(name)
        while pipe is not None:
            try:
                data = os.read(pipe, READ)
            except (BlockingIOError, InterruptedError):
                return
            if not data:
                self.poll.unregister(pipe)
                os.close(pipe)
                del self.pipes[name]
                return
            self.logs[name].write(data)

    def _tell_output(self) -> None:
        ends = {name: self.logs[name].end for name in STREAMS}
        if ends != self.told and self.clients:
            self.told = ends
            self._tell({"event": "output", **ends})

    # -- agents

    def _listen(self) -> None:
        (self.folder / "control").unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with address(self.folder) as path:
            server.bind(path)
        server.listen(4)
        server.setblocking(False)
        self.poll.register(server, selectors.EVENT_READ, "listen")

    def _on_ready(self, key: selectors.SelectorKey) -> None:
        if key.data == "signal":
            with contextlib.suppress(BlockingIOError):
                os.read(key.fd, 4096)
        elif key.data == "listen":
            client, _ = key.fileobj.accept()  # type: ignore[union-attr]
            client.setblocking(False)
            self.clients.add(client)
            self.told = {}
            self.poll.register(client, selectors.EVENT_READ, "client")
            self._tell({"event": "running", "pid": self.pid})
        elif key.data == "client":
            self._on_client(key.fileobj)  # type: ignore[arg-type]
        else:
            # one read a turn: a command that floods its output must not keep the rest waiting
            self._read_some(str(key.data))

    def _read_some(self, name: str) -> None:
        try:
            data = os.read(self.pipes[name], READ)
        except (BlockingIOError, KeyError):
            return
        if data:
            self.logs[name].write(data)
            return
        self.poll.unregister(self.pipes[name])
        os.close(self.pipes.pop(name))

    def _on_client(self, client: socket.socket) -> None:
        if client not in self.clients:  # dropped earlier in this turn
            return
        try:
            data = client.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(client)
            return
        for line in data.splitlines():
            with contextlib.suppress(ValueError):
                self._obey(json.loads(line))

    def _obey(self, order: dict[str, Any]) -> None:
        if order.get("do") != "stop":
            return
        reason, grace_s = str(order.get("reason", ""))[:200], float(order.get("grace_s", 10))
        number = getattr(signal, f"SIG{order['signal']}", None) if order.get("signal") else None
        if number is None:
            self._stop("stop", reason, grace_s)
        else:
            self._save(number, float(order.get("signal_s", 0)), grace_s, reason)

    def _tell(self, event: dict[str, Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        for client in list(self.clients):
            try:
                client.sendall(line)
            except OSError:
                self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        self.clients.discard(client)
        self.poll.unregister(client)
        client.close()


@contextlib.contextmanager
def address(folder: Path) -> Iterator[str]:
    """A path to the control socket that is short however deep the folder lies (a socket's may have 107 bytes)."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/control"
    finally:
        os.close(handle)


def lock(folder: Path) -> None:
    """One shim a replica, for good: a second one ends here, also when the first is done. Never unlocked."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit("another shim has this replica") from None
    if (folder / "started.json").exists() or (folder / "exit.json").exists():
        raise SystemExit("this replica was started before")


def main(folder: Path) -> None:
    """Starts the command in a daemon of ours; returns to the agent once it is known to run, or not to."""
    ready, tell = os.pipe()
    if os.fork():
        os.close(tell)
        with os.fdopen(ready, "rb") as pipe:
            said = pipe.read()
        os._exit(0 if said == b"ok" else 1)
    os.close(ready)
    os.setsid()
    lock(folder)
    shim = Shim(folder)
    shim.start()
    os.write(tell, b"ok")
    os.close(tell)
    for number in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    shim.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
