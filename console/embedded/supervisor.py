"""Starts everything in order, keeps it running, stops it in order."""

import asyncio
import json
import signal
import time
from collections.abc import Coroutine

from console.embedded.child import Child, describe
from console.embedded.options import Options
from console.embedded.plan import Plan
from console.embedded.refusal import NO_VALKEY, PREPARE_FAILED, Refusal
from console.embedded.spec import Spec
from console.embedded.voice import Voice

FIRST_ANSWER = 120.0  # seconds; a first start on a slow disk migrates for a while


class Supervisor:
    """One run of `manage.py up`: `run` returns when a signal asked for the end and all children are gone."""

    def __init__(self, options: Options, plan: Plan) -> None:
        self.options, self.plan = options, plan
        self.logs = options.home / "log"
        self.voice = Voice(options.verbose, self.logs)
        self.children: list[Child] = []
        self.facts: dict[str, str] = {}  # what `prepare` handed over: links and join tokens, kept out of every log
        self._tasks: set[asyncio.Task[None]] = set()
        self._end, self._migrated = asyncio.Event(), asyncio.Event()
        self._started = time.monotonic()

    async def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._asked_to_end)
        try:
            start = self._task(self._start())
            await asyncio.wait({start, self._task(self._until(self._end))}, return_when=asyncio.FIRST_COMPLETED)
            if start.done():
                start.result()
            await self._end.wait()
        finally:
            await self._stop()

    async def _start(self) -> None:
        if self.plan.valkey:
            self.voice.say("Valkey: starting a private one in the data folder")
            if not await self._launch(self.plan.valkey).ready(10):
                raise Refusal(f"The embedded Valkey did not start; see {self.logs / 'valkey.log'}.", NO_VALKEY)
        self.voice.say("Database: bringing the tables up to date")
        self.plan.gate.unlink(missing_ok=True)
        prepare = self._task(self._prepare())
        first = [self._launch(spec) for spec in self.plan.first]
        migrated = self._task(self._until(self._migrated))
        await asyncio.wait({prepare, migrated}, return_when=asyncio.FIRST_COMPLETED)
        if prepare.done():
            prepare.result()
        rest = [self._launch(spec) for spec in self.plan.rest]
        await asyncio.gather(prepare, *(child.ready(FIRST_ANSWER) for child in first))
        self._greet()
        await asyncio.gather(*(child.ready(FIRST_ANSWER) for child in rest))
        for spec in self.plan.guests(self.facts):
            self._launch(spec)

    async def _prepare(self) -> None:
        """Migrations, operator, sign-in link and demo data in one process, which hands facts over as JSON lines."""
        child = Child(self.plan.prepare, self.logs, self.voice, self._fact)
        self.children.append(child)
        code = await child.once()
        self.children.remove(child)
        if code and not self._end.is_set():
            why = self.facts.get("failure") or describe(code)
            raise Refusal(f"Setting up failed: {why} (details in {self.logs / 'prepare.log'}).", PREPARE_FAILED)

    def _fact(self, line: str) -> bool:
        if not line.startswith('{"weir":'):
            return self.voice.heard("prepare", line)
        fact: dict[str, str] = json.loads(line)["weir"]
        self.facts.update(fact)
        if "migrated" in fact:
            self.voice.say("Console: starting")
            self.plan.gate.touch()
            self._migrated.set()
        if "step" in fact:
            self.voice.say(fact["step"])
        return True

    def _launch(self, spec: Spec) -> Child:
        child = Child(spec, self.logs, self.voice)
        self.children.append(child)
        self._task(child.keep())
        return child

    def _greet(self) -> None:
        seconds = time.monotonic() - self._started
        say = self.voice.say
        say("")
        say(f"Weir is ready after {seconds:.1f} s: {self.options.url}")
        if link := self.facts.get("sign_in"):
            say(f"Sign in with this link, which works once: {self.options.url}{link}")
        say(f"Logs: {self.logs}    Stop: Ctrl-C")
        say("")

    def _asked_to_end(self) -> None:
        if not self._end.is_set():
            self.voice.say("\nStopping; running work goes on. Press Ctrl-C again to stop at once.")
            self._end.set()
            return
        for child in self.children:
            child.kill()

    async def _stop(self) -> None:
        """The last stage first, so that nobody asks a process that is gone already."""
        self._end.set()
        for stage in sorted({child.spec.stage for child in self.children}, reverse=True):
            await asyncio.gather(*(child.stop() for child in self.children if child.spec.stage == stage))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, Refusal):
            self.voice.say(f"supervisor: {type(error).__name__}: {error}")
            self._end.set()

    async def _until(self, event: asyncio.Event) -> None:
        await event.wait()
