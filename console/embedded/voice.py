"""What the supervisor says on the terminal: one line a step, and the trouble of its children."""

import re
import sys
import time
from collections import deque
from pathlib import Path

TROUBLE = re.compile(
    r'"level":\s*"(warning|error|critical)"|\b(WARNING|ERROR|CRITICAL|Traceback|panic)\b', re.IGNORECASE
)
BURST, WINDOW = 5, 10.0  # lines of one child, seconds


class Voice:
    """Prints with a prefix. Quiet (the default) shows trouble only: `BURST` lines a child in `WINDOW` seconds."""

    def __init__(self, verbose: bool, logs: Path) -> None:
        self.verbose, self.logs = verbose, logs
        self._recent: dict[str, deque[float]] = {}

    def say(self, line: str) -> None:
        """The supervisor's own line; a closed terminal is no reason to stop."""
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            return

    def heard(self, name: str, line: str) -> bool:
        """A line of the child `name`, shown when it matters; False, since the log file shall have it anyway."""
        if self.verbose:
            self.say(f"{name:<10}| {line}")
        elif TROUBLE.search(line):
            self._trouble(name, line)
        return False

    def _trouble(self, name: str, line: str) -> None:
        now = time.monotonic()
        recent = self._recent.setdefault(name, deque())
        while recent and recent[0] < now - WINDOW:
            recent.popleft()
        recent.append(now)
        if len(recent) < BURST:
            self.say(f"{name:<10}| {line[:300]}")
        elif len(recent) == BURST:
            self.say(f"{name:<10}| ... more in {self.logs / name}.log")
