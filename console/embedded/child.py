"""One supervised process: started, watched, restarted, stopped."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from console.embedded.logs import RotatingLog
from console.embedded.process import Process
from console.embedded.spec import Backoff, Spec
from console.embedded.voice import Voice

MISSES_ALLOWED = 6  # half a minute of silence, so that a busy machine is not mistaken for a dead process
FIRST_ANSWER = 120.0

# takes a line; True keeps it out of the log file (a one-time link is nobody else's business)
Listener = Callable[[str], bool]


def describe(code: int) -> str:
    """The end of a process in words: its exit code, or the signal that ended it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


class Child:
    """Keeps the process of one `Spec`; a line goes to `listener` and, unless that took it, to the log file."""

    def __init__(self, spec: Spec, logs: Path, voice: Voice, listener: Listener | None = None) -> None:
        self.spec, self.voice = spec, voice
        self.listener = listener or (lambda line: not spec.quiet and voice.heard(spec.name, line))
        self.log = RotatingLog(logs / f"{spec.name}.log")
        self.process: Process | None = None
        self._stopping = asyncio.Event()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.running

    def start(self) -> Process:
        if self.spec.before:
            self.spec.before()
        self.process = Process(self.spec.argv, {**os.environ, **self.spec.env}, self._hear, self.spec.nice)
        return self.process

    async def once(self) -> int:
        """Runs the process to its end and returns its exit code (negative: the signal)."""
        code = await self.start().ended
        self.log.close()
        return code

    async def keep(self) -> None:
        """Runs the process again and again, with growing pauses, until `stop`."""
        backoff = Backoff()
        while not self._stopping.is_set():
            started = time.monotonic()
            why = await self._run()
            if self._stopping.is_set():
                break
            pause = backoff.after(time.monotonic() - started)
            self.voice.say(f"{self.spec.name} ended ({why}); starting it again in {pause:.1f} s")
            await within(self._stopping.wait(), pause)
        self.log.close()

    async def _run(self) -> str:
        try:
            process = self.start()
        except OSError as error:  # no memory, no descriptors: worth another try
            return error.strerror or "cannot be started"
        watch = asyncio.create_task(self._watch(process)) if self.spec.watched else None
        code = await process.ended
        if watch:
            watch.cancel()
        return describe(code)

    async def ready(self, patience: float) -> bool:
        """Waits until the probe answers; False when `patience` seconds went by or `stop` came first."""
        deadline = time.monotonic() + patience
        while self.spec.probe:
            if self._stopping.is_set() or time.monotonic() > deadline:
                return False
            if self.process and self.process.running and await self._answers(self.process):
                return True
            await asyncio.sleep(0.05)
        return True

    async def stop(self) -> None:
        """TERM, up to `grace` seconds, then KILL."""
        self._stopping.set()
        process = self.process
        if process is None or not process.running:
            return
        process.signal(signal.SIGTERM)
        if not await within(asyncio.shield(process.ended), self.spec.grace):
            self.voice.say(f"{self.spec.name} did not stop within {self.spec.grace:g} s; killed")
            process.signal(signal.SIGKILL)
            await process.ended

    def kill(self) -> None:
        self._stopping.set()
        if self.process:
            self.process.signal(signal.SIGKILL)

    async def _watch(self, process: Process) -> None:
        started, misses = time.monotonic(), 0
        while process.running:
            await asyncio.sleep(self.spec.probe_every)
            misses = 0 if await self._answers(process) else misses + 1
            starting = not process.answered and time.monotonic() - started < FIRST_ANSWER
            if misses >= MISSES_ALLOWED and not starting:
                self.voice.say(f"{self.spec.name} does not answer any more; killed")
                process.signal(signal.SIGKILL)
                return

    async def _answers(self, process: Process) -> bool:
        if self.spec.probe is None or not await self.spec.probe():
            return False
        process.answered = True
        return True

    def _hear(self, line: bytes) -> None:
        if not self.listener(line.decode(errors="replace").rstrip()):
            self.log.write(line + b"\n")


async def within(awaitable: Awaitable[object], seconds: float) -> bool:
    """True when `awaitable` came to its end within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await awaitable
    except TimeoutError:
        return False
    return True
