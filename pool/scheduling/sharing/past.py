"""Time-based shares: what queues used in the past moves their weights (pool/engine/sharing/history.py)."""

from collections.abc import Callable
from datetime import datetime, timedelta

from pool.engine.sharing import Memory, Tree, Use, Weights, past_use, weights_by_use
from pool.scheduling.models import SharingRules
from pool.scheduling.sharing import use
from pool.scheduling.sharing.layout import Layout

# weights stay for so long: under a fixed load shares may move only as fast as the past does, so that decisions rest
PERIOD = timedelta(minutes=5)
LOOK = timedelta(seconds=10)


class Past:
    """One thread owns it. Switched off it costs nothing but a look at the rules, and a tree keeps its own weights."""

    def __init__(self) -> None:
        self.memory: Memory | None = None
        self.used: dict[int, int] = {}  # unit-seconds by queue, decayed
        self._look: datetime | None = None  # when rules are read again, in case nobody says that they changed
        self._due: datetime | None = None

    def refresh(self, read_rules: Callable[[], SharingRules], now: datetime, weights: Weights) -> None:
        """Reads the rules and the past, if that is due."""
        if self._look is not None and now < self._look:
            return
        self._look = now + LOOK
        memory = _memory(read_rules())
        if memory == self.memory and self._due is not None and now < self._due:
            return
        self.memory, self._due = memory, now + PERIOD
        self.used = _past(memory, now, weights) if memory is not None else {}

    def forget(self) -> None:
        """Somebody changed the rules."""
        self._look = None

    def weights(self, tree: Tree, layout: Layout) -> dict[int, int] | None:
        """Over-quota weights of the moment, in the engine's keys; None where the queues' own hold."""
        if self.memory is None:
            return None
        leaves = {layout.leaf(queue): used for queue, used in self.used.items()}
        return weights_by_use(tree, {key: used for key, used in leaves.items() if key in tree.path}, self.memory)


def _memory(rules: SharingRules) -> Memory | None:
    if not rules.history_strength:
        return None
    return Memory(rules.history_window_s, rules.history_half_life_s, rules.history_strength)


def _past(memory: Memory, now: datetime, weights: Weights) -> dict[int, int]:
    lines: dict[int, list[Use]] = {}
    for line in use.used(now - timedelta(seconds=memory.window_s), now, weights):
        start, end = int(line.at.timestamp()), int(line.until.timestamp())
        if end > start:
            lines.setdefault(line.queue, []).append(Use(start, end, line.unit_s // (end - start)))
    return {queue: past_use(mine, int(now.timestamp()), memory) for queue, mine in lines.items()}
