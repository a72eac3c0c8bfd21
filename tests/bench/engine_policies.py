"""Random, BestFit and FGD as published, to measure the engine against: plain NumPy over nodes.

FGD: Weng et al., USENIX ATC 2023: score = truncate(100 x sigmoid(change of fragmentation / 1000
milli)), best node by score, lowest index on ties. BestFit: the node with the least CPU and
GPU left (each relative to the largest node). Random: any node that fits.
They see the same nodes, tasks and arrival order as the engine and share none of its code.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MILLI = 1_000
Ints = NDArray[np.int64]


class Cluster:
    """Free CPU, memory and GPU milli by node and card."""

    def __init__(self, nodes: list[Any], tasks: list[Any]) -> None:
        width = max(len(node.devices) for node in nodes)
        self.cpu = np.array([node.cpu_milli for node in nodes], dtype=np.int64)
        self.memory = np.array([node.memory_mib for node in nodes], dtype=np.int64)
        self.gpu = np.zeros((len(nodes), width), dtype=np.int64)
        for row, node in enumerate(nodes):
            self.gpu[row, : len(node.devices)] = MILLI
        self.model = np.array([node.devices[0].model for node in nodes])
        self.most = (int(self.cpu.max()), width * MILLI)
        self.changed: list[int] = []
        self.seen: dict[Any, tuple[int, NDArray[np.float64]]] = {}
        self.typical = self._typical(tasks)

    def _typical(self, tasks: list[Any]) -> list[tuple[int, int, int, NDArray[np.bool_], float]]:
        classes = Counter((t.cpu_milli, t.share_bp // 10 if t.devices else 0, t.devices, t.models) for t in tasks)
        kept, covered = [], 0
        for key, count in classes.most_common():
            if covered >= 0.95 * len(tasks):
                break
            kept.append((key, count))
            covered += count
        return [(cpu, milli, n, self._allowed(models), count / covered) for (cpu, milli, n, models), count in kept]

    def _allowed(self, models: frozenset[str]) -> NDArray[np.bool_]:
        return np.isin(self.model, sorted(models)) if models else np.ones(len(self.model), dtype=bool)

    def fits(self, task: Any) -> NDArray[np.bool_]:
        """Nodes that can take the task."""
        room = (self.cpu >= task.cpu_milli) & (self.memory >= task.host_memory_mib)
        if not task.devices:
            return room
        cards: NDArray[np.bool_] = (self.gpu >= task.share_bp // 10).sum(axis=1) >= task.devices
        return room & cards & self._allowed(task.models)

    def place(self, row: int, task: Any, cards: list[int]) -> None:
        """Take the task's parts."""
        self.cpu[row] -= task.cpu_milli
        self.memory[row] -= task.host_memory_mib
        for card in cards:
            self.gpu[row, card] -= task.share_bp // 10
        self.changed.append(row)

    def tightest(self, row: int, task: Any) -> list[int]:
        """The fullest cards that still fit, lowest index first."""
        free = self.gpu[row]
        able = [card for card in range(len(free)) if free[card] >= task.share_bp // 10 > 0]
        return sorted(able, key=lambda card: (free[card], card))[: task.devices]

    def fragmentation(self, rows: Ints, cpu: Ints, gpu: Ints) -> NDArray[np.float64]:
        """F of each row: expected free milli that a random typical task cannot use."""
        total = gpu.sum(axis=1)
        value = np.zeros(len(rows))
        for cpu_milli, milli, count, allowed, weight in self.typical:
            enough = gpu >= milli
            ok = (cpu >= cpu_milli) & (enough.sum(axis=1) >= count) & allowed[rows] & (count > 0)
            value += weight * np.where(ok, (gpu * ~enough).sum(axis=1), total)
        return value

    def fgd_scores(self, task: Any, rows: Ints) -> NDArray[np.float64]:
        """The integer FGD score of each row, whether or not memory and models allow the task."""
        milli = task.share_bp // 10 if task.devices else 0
        before = self.fragmentation(rows, self.cpu[rows], self.gpu[rows])
        ways = np.stack(self._ways(task, rows, milli))
        every = ways.reshape(-1, ways.shape[2])
        cpu = np.tile(self.cpu[rows] - task.cpu_milli, len(ways))
        after = self.fragmentation(np.tile(rows, len(ways)), cpu, every)
        gain = np.where(every.min(axis=1) >= 0, np.tile(before, len(ways)) - after, -np.inf)
        best = gain.reshape(len(ways), -1).max(axis=0)
        score: NDArray[np.float64] = np.trunc(100 / (1 + np.exp(-best / MILLI)))
        return score

    def _ways(self, task: Any, rows: Ints, milli: int) -> list[Ints]:
        gpu = self.gpu[rows]
        if task.devices == 1 and milli < MILLI:
            return [gpu - milli * (np.arange(gpu.shape[1]) == card) for card in range(gpu.shape[1])]
        free = gpu >= milli if milli else np.zeros_like(gpu, dtype=bool)
        first = free & (free.cumsum(axis=1) <= task.devices)
        return [gpu - first * milli]


Choose = Callable[[Cluster, Any], "tuple[int, list[int]] | None"]


def choose_random(seed: int) -> Choose:
    """Any node that fits."""
    rng = random.Random(seed)

    def choose(cluster: Cluster, task: Any) -> tuple[int, list[int]] | None:
        rows = cluster.fits(task).nonzero()[0]
        if not len(rows):
            return None
        row = int(rows[rng.randrange(len(rows))])
        return row, cluster.tightest(row, task)

    return choose


def choose_best_fit(cluster: Cluster, task: Any) -> tuple[int, list[int]] | None:
    """The node with least left over."""
    ok = cluster.fits(task)
    if not ok.any():
        return None
    left = cluster.cpu / cluster.most[0] + cluster.gpu.sum(axis=1) / cluster.most[1]
    row = int(np.where(ok, left, np.inf).argmin())
    return row, cluster.tightest(row, task)


def choose_fgd(cluster: Cluster, task: Any) -> tuple[int, list[int]] | None:
    """The published rule; scores are kept by task class and renewed where nodes changed."""
    key = (task.cpu_milli, task.share_bp, task.devices)
    upto, scores = cluster.seen.get(key, (-1, np.zeros(0)))
    rows = np.arange(len(cluster.cpu)) if upto < 0 else np.unique(np.array(cluster.changed[upto:], dtype=np.int64))
    if upto < 0:
        scores = np.zeros(len(cluster.cpu))
    if len(rows):
        scores[rows] = cluster.fgd_scores(task, rows)
    cluster.seen[key] = (len(cluster.changed), scores)
    able = np.where(cluster.fits(task), scores, -1.0)
    row = int(able.argmax())
    if able[row] < 0:
        return None
    return row, _fgd_cards(cluster, row, task)


def _fgd_cards(cluster: Cluster, row: int, task: Any) -> list[int]:
    milli = task.share_bp // 10 if task.devices else 0
    able = [card for card in range(cluster.gpu.shape[1]) if cluster.gpu[row, card] >= milli > 0]
    if task.devices != 1 or milli == MILLI:
        return able[: task.devices]
    rows = np.full(len(able), row)
    gpu = cluster.gpu[rows] - milli * (np.arange(cluster.gpu.shape[1]) == np.array(able)[:, None])
    after = cluster.fragmentation(rows, cluster.cpu[rows] - task.cpu_milli, gpu)
    return [able[int(after.argmin())]]
