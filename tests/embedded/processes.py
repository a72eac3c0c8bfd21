"""Real processes for tests: started, listened to, looked up in /proc, and always ended."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent.parent
Answer = TypeVar("Answer")


def until(question: Callable[[], Answer], what: str, seconds: float = 120.0) -> Answer:
    """Asks until the answer is truthy and returns it; fails naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)
    return answer


def alive(pid: int) -> bool:
    """False for a process that is gone or only waits for its parent to notice (state Z)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def descendants(pid: int) -> set[int]:
    """All living processes below `pid`."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(entry.name)] = int(fields[1])
    found, border = set[int](), {pid}
    while border:
        border = {child for child, parent in parents.items() if parent in border} - found
        found |= border
    return found


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Run:
    """A started program; `lines` grows with its output."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self.popen = subprocess.Popen(
            argv,
            cwd=ROOT,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.pid = self.popen.pid
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.append(line.rstrip("\n"))

    def said(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def wait_for(self, text: str, seconds: float = 180.0) -> None:
        def seen() -> bool:
            if self.popen.poll() is not None and not self.said(text):
                self._reader.join(30)
                assert self.said(text), f"ended ({self.popen.returncode}) without {text!r}: {self.lines}"
            return self.said(text)

        until(seen, f"{text!r} in {self.lines}", seconds)

    def child(self, part: str) -> int:
        """The pid of the descendant whose command line contains `part`; 0 while there is none."""
        return next((pid for pid in descendants(self.pid) if part in command_line(pid)), 0)

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 120.0) -> int:
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        code = self.popen.wait(seconds)
        self._reader.join(30)
        return code


@contextlib.contextmanager
def running(argv: list[str], **env: str) -> Iterator[Run]:
    """Starts `argv` from the repository root and ends it, with all below it, however the block is left."""
    run = Run(argv, env)
    try:
        yield run
    finally:
        below = descendants(run.pid)
        for pid in {run.pid, *below}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        run.popen.wait(60)


def up(home: Path, *words: str, **env: str) -> contextlib.AbstractContextManager[Run]:
    """`manage.py up` on `home`."""
    return running([sys.executable, str(ROOT / "manage.py"), "up", *words], WEIR_HOME=str(home), **env)
