"""How long a decision takes at 10,240 devices: warm, cold, refused, gangs.

Prints p50 and p99 in milliseconds, of wall-clock and of CPU time (on a busy machine only the
latter says something about the engine), medians of five rounds.
  python -m tests.bench.engine_decide [--devices 10240] [--decisions 2000]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, Policy, ReplicaRequest, decide
from tests.engine import make, openb
from tests.shared_data import describe

QUIET = Policy(explain=False)
ROUNDS = 5
MODELS = ("A100", "H100", "V100M32")


def fleet_of(devices: int, mix_of: list[ReplicaRequest]) -> Fleet:
    """Nodes of eight cards of three models, one in three of them A100 that may be cut."""
    nodes: list[NodeSpec] = []
    for key in range(1, devices // 8 + 1):
        model = MODELS[key % 3]
        cut = {"mig_family": "A100-80GB", "mig_enabled": True} if model == "A100" else {}
        cards = tuple(make.card(100 * key + i, model, 81_920, **cut) for i in range(8))
        nodes.append(make.node(key, *cards, cpu=128_000, memory=1 << 20))
    return Fleet.build(nodes, mix=openb.typical(mix_of))


class Clock:
    """Collects durations of calls."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def time(self, call: Callable[[], object]) -> object:
        """Run and time a call."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        self.cpu.append((time.process_time() - cpu) * 1e3)
        self.wall.append((time.perf_counter() - wall) * 1e3)
        return result

    def figures(self) -> list[float]:
        """p50 and p99 of wall, then of CPU."""
        return [float(np.percentile(values, p)) for values in (self.wall, self.cpu) for p in (50, 99)]


def warm(fleet: Fleet, jobs: list[JobRequest], rng: random.Random) -> list[float]:
    """A stream of known classes; each decision is applied, and old work leaves at the same rate."""
    clock, live = Clock(), []
    for job in jobs:
        decision = clock.time(lambda job=job: decide(fleet, job, QUIET))  # type: ignore[misc]
        if isinstance(decision, Placed):
            live.append(fleet.apply(decision, job.tenant, job.trust_group))
        if len(live) > 4_000:
            for hold in live.pop(rng.randrange(len(live))):
                fleet.release(hold)
    return clock.figures()


def cold(fleet: Fleet, rng: random.Random) -> list[float]:
    """Classes never seen: a fresh CPU figure each time."""
    clock = Clock()
    for count in range(200):
        devices, share = rng.choice([(1, 2_500), (1, 10_000), (2, 10_000), (8, 10_000), (2, 2_500)])
        request = ReplicaRequest(devices, share, cpu_milli=1_000 + count)
        if rng.random() < 0.2:
            request = ReplicaRequest(1, mig_profile="2g.20gb", cpu_milli=1_000 + count)
        clock.time(lambda r=request: decide(fleet, make.job(r), QUIET))  # type: ignore[misc]
    return clock.figures()


def refused(fleet: Fleet, explain: bool) -> list[float]:
    """Refusals, with or without the changes that would admit the job."""
    clock = Clock()
    for count in range(20):
        request = ReplicaRequest(1, 2_500, cpu_milli=200_000 + count)
        clock.time(lambda r=request: decide(fleet, make.job(r), Policy(explain=explain)))  # type: ignore[misc]
    return clock.figures()


def gang(devices: int, mix_of: list[ReplicaRequest], request: ReplicaRequest, replicas: int) -> list[float]:
    """A whole gang on an empty fleet."""
    fleet, clock = fleet_of(devices, mix_of), Clock()
    for _ in range(3):
        placed = clock.time(lambda: decide(fleet, make.job(request, replicas), QUIET))
        assert isinstance(placed, Placed)
    return clock.figures()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_240)
    parser.add_argument("--decisions", type=int, default=2_000)
    chosen = parser.parse_args()
    tasks = [replace(task, models=frozenset()) for task in openb.requests()]
    print(f"{describe()}; {chosen.devices} devices; required: warm p99 1 ms, unseen class p99 10 ms")
    print("case                          wall p50   p99    CPU p50   p99   (ms)")
    found: dict[str, list[list[float]]] = {}
    for seed in range(ROUNDS):
        rng = random.Random(seed)
        fleet = fleet_of(chosen.devices, tasks)
        jobs = [make.job(rng.choice(tasks)) for _ in range(chosen.decisions + 4_000)]
        warm(fleet, jobs[:4_000], rng)
        found.setdefault("warm stream, 100+ classes", []).append(warm(fleet, jobs[4_000:], rng))
        found.setdefault("warm stream, one class", []).append(warm(fleet, jobs[:1] * 500, rng))
        found.setdefault("class never seen", []).append(cold(fleet, rng))
        found.setdefault("refused, no changes", []).append(refused(fleet, explain=False))
        found.setdefault("refused, with changes", []).append(refused(fleet, explain=True))
        found.setdefault("gang 512 x 1 card", []).append(gang(chosen.devices, tasks, ReplicaRequest(1), 512))
        found.setdefault("gang 64 x 8 cards", []).append(gang(chosen.devices, tasks, ReplicaRequest(8), 64))
    for case, rounds in found.items():
        figures = [statistics.median(column) for column in zip(*rounds, strict=True)]
        print(f"{case:28} " + " ".join(f"{figure:8.3f}" for figure in figures))


if __name__ == "__main__":
    main()
