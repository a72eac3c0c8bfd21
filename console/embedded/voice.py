"""What the supervisor says on the terminal: one line a step, and the trouble of its children."""

import re
import sys
import time
from collections import deque
from pathlib import Path

LEVEL = re.compile(r'"level": ?"(\w+)"')  # of our own structured lines
TROUBLE = re.compile(r"\b(WARNING|ERROR|CRITICAL|Traceback)\b")  # of everyone else's
BURST, WINDOW = 5, 10.0  # lines of one child, seconds


def is_trouble(line: str) -> bool:
    """A line that says its level is taken at its word, whatever else it mentions."""
    level = LEVEL.search(line)
    return level[1] in {"warning", "error", "critical"} if level else bool(TROUBLE.search(line))


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
        elif is_trouble(line):
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
