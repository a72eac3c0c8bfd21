"""Arrivals and departures on openb: the engine with bounded moves beside FGD without.

Poisson arrivals drawn from the task list, exponential stay, what does not fit (for the engine:
even with at most 8 moves) is lost. The pool is filled first, then 5,000 arrivals pass uncounted,
then ``--arrivals`` are counted. Prints for each seed and policy the share of 8-, 4- and 2-card
tasks accepted, the time-average allocated share, moves in percent of arrivals; then the means and
standard deviations, and the ratio of the 8-card figures.

  python -m tests.bench.engine_churn [--seeds 42-51] [--loads 1.0,1.1] [--arrivals 40000] [--most 8]
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import time
from bisect import insort
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pool.engine import Fleet, NodeSpec, Placed, Policy, ReplicaRequest, decide
from pool.engine.moves import Movable, carry_out, plan_moves, taken_by
from tests.bench.engine_fgd import TableFgd
from tests.engine import make, openb
from tests.shared_data import describe

QUIET = Policy(explain=False)
WARM = 5_000
GAIN = 5_000  # bp


class Side(Protocol):
    """A policy under test. ``moves`` counts what it moved."""

    moves: int

    def take(self, key: int, task: ReplicaRequest) -> bool: ...
    def give(self, key: int) -> None: ...


class Fgd:
    """FGD, which moves nothing."""

    def __init__(self, nodes: list[NodeSpec], tasks: list[ReplicaRequest]) -> None:
        self.cluster, self.moves = TableFgd(nodes, tasks), 0
        self.live: dict[int, tuple[int, ReplicaRequest, list[int]]] = {}

    def take(self, key: int, task: ReplicaRequest) -> bool:
        """Place an arrival."""
        found = self.cluster.choose(task)
        if found is None:
            return False
        self.cluster.place(found[0], task, found[1])
        self.live[key] = (found[0], task, found[1])
        return True

    def give(self, key: int) -> None:
        """A departure."""
        self.cluster.leave(*self.live.pop(key))


class Engine:
    """decide; if it refuses, a plan of at most ``most`` moves. A move costs the GPU share that it
    displaces, and a plan has to admit half a card more than that."""

    def __init__(self, nodes: list[NodeSpec], tasks: list[ReplicaRequest], most: int) -> None:
        self.fleet, self.most, self.moves = Fleet.build(nodes, mix=openb.typical(tasks)), most, 0
        self.live: dict[int, Movable] = {}
        self.on: dict[int, list[Movable]] = {node.key: [] for node in nodes}

    def take(self, key: int, task: ReplicaRequest) -> bool:
        """Place an arrival, moving others if need be."""
        job = make.job(task, key=key)
        decision = decide(self.fleet, job, QUIET)
        if isinstance(decision, Placed):
            self._add(Movable(job, self.fleet.apply(decision, job.tenant, job.trust_group)))
            return True
        worth = task.devices * task.share_bp - GAIN
        plan = plan_moves(self.fleet, job, self.on, QUIET, self.most, worth) if self.most and worth > 0 else None
        if plan is None:
            return False
        holds = carry_out(self.fleet, job, plan)
        for move in plan.moves:
            self._drop(move.movable.job.key)
            self._add(Movable(move.movable.job, taken_by(move.movable.job, move.to)))
        self._add(Movable(job, holds))
        self.moves += len(plan.moves)
        return True

    def give(self, key: int) -> None:
        """A departure."""
        for hold in self._drop(key).holds:
            self.fleet.release(hold)

    def _add(self, movable: Movable) -> None:
        share = sum(hold.share_bp for hold in movable.holds)
        movable = replace(movable, cost=max(share, 1))
        self.live[movable.job.key] = movable
        insort(self.on[movable.node_key], movable, key=lambda m: m.order)

    def _drop(self, key: int) -> Movable:
        movable = self.live.pop(key)
        self.on[movable.node_key].remove(movable)
        return movable


@dataclass(slots=True)
class Tally:
    """What was counted: arrivals and acceptances by cards asked, and the allocated area."""

    came: Counter[int] = field(default_factory=Counter)
    stayed: Counter[int] = field(default_factory=Counter)
    area: float = 0.0
    span: float = 0.0

    def pass_time(self, used: int, span: float) -> None:
        """So much was allocated for so long."""
        self.area += used * span
        self.span += span

    def accepted(self, cards: int) -> float:
        """Percent accepted of those that asked for so many cards."""
        return 100 * self.stayed[cards] / self.came[cards] if self.came[cards] else 100.0


def events(tasks: list[ReplicaRequest], capacity: int, load: float, seed: int) -> Iterator[tuple[float, float, Any]]:
    """Arrival time, stay and task; those that fill the pool at the beginning arrive at time 0."""
    rng = random.Random(seed)
    mean = statistics.fmean(task.devices * task.share_bp for task in tasks)
    for _ in range(int(load * capacity / mean)):
        yield 0.0, rng.expovariate(1.0), rng.choice(tasks)
    now = 0.0
    while True:
        now += rng.expovariate(load * capacity / mean)
        yield now, rng.expovariate(1.0), rng.choice(tasks)


def run(side: Side, tasks: list[ReplicaRequest], capacity: int, load: float, seed: int, arrivals: int) -> list[float]:
    """Accepted 8/4/2 cards %, allocated %, moves %, and microseconds (CPU) an arrival."""
    tally, leaving, used, now, count, before = Tally(), [], 0, 0.0, -WARM, 0
    begun = time.process_time()
    for key, (at, stay, task) in enumerate(events(tasks, capacity, load, seed), 1):
        size = task.devices * task.share_bp
        while leaving and leaving[0][0] <= at:
            end, gone, share = heapq.heappop(leaving)
            tally.pass_time(used, end - now)
            now, used = end, used - share
            side.give(gone)
        tally.pass_time(used, at - now)
        now = at
        accepted = side.take(key, task)
        if accepted:
            used += size
            heapq.heappush(leaving, (at + stay, key, size))
        count += at > 0
        if count == 0:
            tally, before = Tally(), side.moves
        if count > 0:
            tally.came[task.devices] += 1
            tally.stayed[task.devices] += accepted
        if count == arrivals:
            break
    each = (time.process_time() - begun) / key * 1e6
    moved = 100 * (side.moves - before) / arrivals
    allocated = 100 * tally.area / capacity / tally.span
    return [*(tally.accepted(cards) for cards in (8, 4, 2)), allocated, moved, each]


def show(name: str, figures: list[float]) -> None:
    names = ("8g", "4g", "2g", "allocated", "moves", "us")
    print(f"{name:28}" + "  ".join(f"{n} {f:7.2f}" for n, f in zip(names, figures, strict=True)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="42-51")
    parser.add_argument("--loads", default="1.0,1.1")
    parser.add_argument("--arrivals", type=int, default=40_000)
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--workload", default="default")
    chosen = parser.parse_args()
    first, _, last = chosen.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    nodes, tasks = openb.nodes(), openb.requests(chosen.workload)
    capacity = sum(len(node.devices) for node in nodes) * 10_000
    limits = f"{chosen.arrivals} arrivals, at most {chosen.most} moves, seeds {seeds}"
    print(f"{describe()}; workload {chosen.workload}; {limits}")
    for load in map(float, chosen.loads.split(",")):
        found: dict[str, list[list[float]]] = {"fgd": [], "engine": []}
        for seed in seeds:
            sides: dict[str, Side] = {"fgd": Fgd(nodes, tasks), "engine": Engine(nodes, tasks, chosen.most)}
            for name, side in sides.items():
                found[name].append(run(side, tasks, capacity, load, seed, chosen.arrivals))
                show(f"load {load} seed {seed} {name}", found[name][-1])
        for name, rows in found.items():
            columns = list(zip(*rows, strict=True))
            show(f"load {load} {name} mean", [statistics.fmean(column) for column in columns])
            if len(rows) > 1:
                show(f"load {load} {name} sd", [statistics.stdev(column) for column in columns])
        eight = [statistics.fmean(row[0] for row in found[name]) for name in ("engine", "fgd")]
        print(
            f"load {load}: 8-card acceptance {eight[0] / max(eight[1], 1e-9):.2f} times FGD's (required 1.8)",
            flush=True,
        )


if __name__ == "__main__":
    main()
