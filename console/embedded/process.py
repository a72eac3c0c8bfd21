"""A running child as the event loop sees it: its lines as they come, and its end.

asyncio's own subprocess waits until every holder of the output pipe is gone; the running work of a node agent may
outlive the agent and hold it, so the end of the process itself is watched here.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from console.embedded import deathsig

CHUNK = 65536


class Process:
    """Starts `argv` in its own session, bound to die with us. `ended` holds the exit code (negative: signal)."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], hear: Callable[[bytes], None], nice: int = 0
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._hear, self._rest = hear, b""
        self._popen = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(env),
            # a Ctrl-C must reach the supervisor alone, which then stops all in order
            start_new_session=True,
            preexec_fn=deathsig.hook(nice),
        )
        self.pid = self._popen.pid
        self.answered = False  # has it ever answered its probe?
        self.ended: asyncio.Future[int] = self._loop.create_future()
        assert self._popen.stdout is not None
        self._output = self._popen.stdout.fileno()
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._output, self._read)
        self._watch_end()

    @property
    def running(self) -> bool:
        return not self.ended.done()

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            self._popen.send_signal(number)

    def _watch_end(self) -> None:
        if sys.platform == "linux":
            self._pidfd = os.pidfd_open(self.pid)
            self._loop.add_reader(self._pidfd, self._reap)
        else:
            self._poll()

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._finish(self._popen.wait())

    def _poll(self) -> None:
        code = self._popen.poll()
        if code is None:
            self._loop.call_later(0.05, self._poll)
        else:
            self._finish(code)

    def _finish(self, code: int) -> None:
        while self._read():
            continue
        self._close_output()
        if self._rest:
            self._hear(self._rest)
        self.ended.set_result(code)

    def _read(self) -> bool:
        """Takes what the child has said; False when there is nothing (more) for now."""
        if self._output < 0:
            return False
        try:
            data = os.read(self._output, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._close_output()
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hear(line)
        if len(self._rest) >= CHUNK:  # no newline in sight: hand it on rather than gather without end
            self._hear(self._rest)
            self._rest = b""
        return True

    def _close_output(self) -> None:
        if self._output >= 0 and self._popen.stdout is not None:
            self._loop.remove_reader(self._output)
            self._popen.stdout.close()
            self._output = -1
