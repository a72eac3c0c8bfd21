"""FGD once more for long runs: the same rule as in engine_policies, read from integer tables.

With S the free milli and U_m what typical task m can use, F = S - sum p_m U_m; for one-card tasks
U_m is a sum over cards, so a table by (model, CPU step, free milli) replaces the loop over tasks.
Weights are integers, so that a change of exactly 0 is 0 on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench.engine_policies import MILLI, Cluster

Ints = NDArray[np.int64]
PARTS = 1_000_000


class TableFgd(Cluster):
    """A cluster with departures, and FGD's choice on it."""

    def __init__(self, nodes: list[Any], tasks: list[Any]) -> None:
        super().__init__(nodes, tasks)
        names, self.kind = np.unique(self.model, return_inverse=True)
        self.steps = np.array(sorted({task[0] for task in self.typical}), dtype=np.int64)
        steps, width = len(self.steps) + 1, self.gpu.shape[1] + 1
        self.single = np.zeros((len(names), steps, MILLI + 1), dtype=np.int64)
        self.several = np.zeros((len(names), steps, width), dtype=np.int64)
        for cpu, milli, count, allowed, weight in self.typical:
            step, part = int(np.searchsorted(self.steps, cpu)) + 1, round(weight * PARTS)
            for kind in np.unique(self.kind[allowed]) if count else ():
                if count == 1:
                    self.single[kind, step:, milli:] += part
                else:
                    assert milli == MILLI, "a typical task of several cards takes whole ones"
                    whole = np.arange(width)
                    self.several[kind, step:] += np.where(whole >= count, whole * MILLI * part, 0)

    def lost(self, rows: Ints, cpu: Ints, gpu: Ints) -> Ints:
        """Fragmentation of each row in milli x PARTS."""
        kind, step = self.kind[rows], np.searchsorted(self.steps, cpu, "right")
        cards = gpu * self.single[kind[:, None], step[:, None], np.maximum(gpu, 0)]
        several: Ints = self.several[kind, step, (gpu == MILLI).sum(axis=1)]
        lost: Ints = gpu.sum(axis=1) * PARTS - cards.sum(axis=1) - several
        return lost

    def choose(self, task: Any) -> tuple[int, list[int]] | None:
        """The best node and its cards; scores are kept by class and renewed where nodes changed."""
        key = (task.cpu_milli, task.share_bp, task.devices)
        upto, scores = self.seen.get(key, (-1, np.zeros(len(self.cpu))))
        rows = np.arange(len(self.cpu)) if upto < 0 else np.array(sorted(set(self.changed[upto:])), dtype=np.int64)
        if len(rows):
            scores[rows] = np.trunc(100 / (1 + np.exp(-self._gains(task, rows).max(axis=0) / (PARTS * MILLI))))
        self.seen[key] = (len(self.changed), scores)
        able = np.where(self.fits(task), scores, -1.0)
        row = int(able.argmax())
        return None if able[row] < 0 else (row, self._cards(row, task))

    def _gains(self, task: Any, rows: Ints) -> NDArray[np.float64]:
        """[way, row]: the fall of F; a way is a card for a fraction, else there is one."""
        milli = task.share_bp // 10 if task.devices else 0
        before = self.lost(rows, self.cpu[rows], self.gpu[rows])
        ways = np.stack(self._ways(task, rows, milli))
        every = ways.reshape(-1, ways.shape[2])
        after = self.lost(np.tile(rows, len(ways)), np.tile(self.cpu[rows] - task.cpu_milli, len(ways)), every)
        gain = np.where(every.min(axis=1) >= 0, np.tile(before, len(ways)) - after, -np.inf)
        shaped: NDArray[np.float64] = gain.reshape(len(ways), -1)
        return shaped

    def _cards(self, row: int, task: Any) -> list[int]:
        milli = task.share_bp // 10 if task.devices else 0
        able = [card for card in range(self.gpu.shape[1]) if self.gpu[row, card] >= milli > 0]
        if task.devices != 1 or milli == MILLI:
            return able[: task.devices]
        gains = self._gains(task, np.array([row]))[:, 0]
        return [max(able, key=lambda card: (gains[card], -card))]

    def leave(self, row: int, task: Any, cards: list[int]) -> None:
        """Give the task's parts back."""
        self.cpu[row] += task.cpu_milli
        self.memory[row] += task.host_memory_mib
        for card in cards:
            self.gpu[row, card] += task.share_bp // 10
        self.changed.append(row)
