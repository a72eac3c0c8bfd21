"""How the engine's costs grow with the pool: loading, decisions, gangs, verdicts and memory by size.

Each size runs in a process of its own: nodes of eight cards of three models, the openb task mix.
Prints a row a size (CPU milliseconds, and the peak of memory) and, under the table, by which power of the
size each cost grew from the smallest to the largest.
  python -m tests.bench.engine_scale [--devices 1024,10240,102400] [--decisions 1000]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np

from pool.engine import Fleet, NodeSpec, Placed, Refused, ReplicaRequest, TypicalMix, decide
from tests.bench.engine_decide import MODELS, QUIET, Clock, cold, warm
from tests.engine import make, openb
from tests.shared_data import describe

LINEAR = 1.05  # what a measurement cannot tell from 1
COSTS = {  # column: what is required at 102,400 devices
    "load": "2,000",
    "warm p50": "",
    "warm p99": "4",
    "unseen p99": "60",
    "gang": "200 (4,096 cards)",
    "verdict": "50 at 10,240",
    "MiB": "1,536",
}


def nodes_of(devices: int) -> list[NodeSpec]:
    """Nodes of eight cards in racks of 16, switches of 8 racks; one in three of them may be cut."""
    found: list[NodeSpec] = []
    for key in range(1, devices // 8 + 1):
        model = MODELS[key % 3]
        cut = {"mig_family": "A100-80GB", "mig_enabled": True} if model == "A100" else {}
        cards = tuple(make.card(100 * key + i, model, 81_920, **cut) for i in range(8))
        rack = key // 16
        names = ("s", f"p{rack // 64}", f"w{rack // 8}", f"r{rack}")
        found.append(NodeSpec(key, f"n{key}", *names, 128_000, 1 << 20, cards))
    return found


def measure(devices: int, decisions: int) -> dict[str, float]:
    """The costs of one size by column."""
    tasks = [replace(task, models=frozenset()) for task in openb.requests()]
    nodes, mix, rng = nodes_of(devices), openb.typical(tasks), random.Random(1)
    load, gang, verdict = Clock(), Clock(), Clock()
    for _ in range(3):
        fleet = load.time(lambda: loaded(nodes, mix))
    assert isinstance(fleet, Fleet)
    for _ in range(3):
        placed = gang.time(lambda: decide(fleet, make.job(ReplicaRequest(1), devices // 25), QUIET))
        assert isinstance(placed, Placed)
    jobs = [make.job(rng.choice(tasks)) for _ in range(decisions + 4_000)]
    warm(fleet, jobs[:4_000], rng)
    _, _, p50, p99 = warm(fleet, jobs[4_000:], rng)
    unseen = cold(fleet, rng)[3]
    full = Fleet.build(nodes, [make.whole(node.key, node.devices[0].key, 81_920) for node in nodes[9:]], mix)
    full.settle()
    for count in range(5):
        asked = make.job(ReplicaRequest(8, cpu_milli=count + 1), 10)
        assert isinstance(verdict.time(lambda job=asked: decide(full, job)), Refused)  # type: ignore[misc]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    middle, built = float(np.median(gang.cpu)), float(np.median(load.cpu))
    return dict(zip(COSTS, (built, p50, p99, unseen, middle, max(verdict.cpu), peak), strict=True))


def loaded(nodes: list[NodeSpec], mix: TypicalMix) -> Fleet:
    """A fleet that is ready to decide."""
    fleet = Fleet.build(nodes, mix=mix)
    fleet.settle()
    return fleet


def measured_apart(devices: int, decisions: int) -> dict[str, float]:
    """The same in a process of its own, so that memory is of this size alone."""
    command = [sys.executable, "-m", "tests.bench.engine_scale", "--one", str(devices), "--decisions", str(decisions)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def power(sizes: list[int], costs: list[float]) -> float:
    """The exponent by which a cost grew from the first size to the last."""
    return math.log(costs[-1] / costs[0]) / math.log(sizes[-1] / sizes[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", default="1024,2560,10240,40960,102400")
    parser.add_argument("--decisions", type=int, default=1_000)
    parser.add_argument("--one", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.decisions)))
        return
    sizes = [int(size) for size in chosen.devices.split(",")]
    print(f"{describe()}; {time.strftime('%Y-%m-%d %H:%M')}; CPU ms")
    print("gang: one card in 25; verdict: 10 x 8 cards where nine nodes have them, and what would admit it (slowest)")
    print(f"{'devices':>10}" + "".join(f"{name:>12}" for name in COSTS))
    rows = []
    for size in sizes:
        rows.append(measured_apart(size, chosen.decisions))
        print(f"{size:>10}" + "".join(f"{cost:>12.2f}" for cost in rows[-1].values()), flush=True)
    print(f"{'required':>10}" + "".join(f"{wanted.split(' ')[0]:>12}" for wanted in COSTS.values()))
    grown = [power(sizes, [row[name] for row in rows]) for name in COSTS]
    print(f"{'power':>10}" + "".join(f"{exponent:>12.2f}" for exponent in grown))
    print(f"costs grow no faster than linearly (power at most {LINEAR}): {'yes' if max(grown) <= LINEAR else 'NO'}")


if __name__ == "__main__":
    main()
