"""MIG slices on 100 cut cards under arrivals and departures, decided by the real engine.

Poisson arrivals, exponential stay, loss, six plain profiles of an 8-slice card; prints the
share of requests accepted and the time-average of memory slices in use, for a first-fit and a
best-fit rule, the engine, and the engine with at most one move for each request it would refuse:
means over the seeds, what the last is above best fit (with the standard deviation of the
difference seed by seed), and its moves in percent of arrivals.

  python -m tests.bench.engine_mig [--arrivals 40000] [--seeds 1-10] [--mixes uniform] [--loads 1.0]
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import time
from bisect import insort
from collections.abc import Callable

from pool.engine import Fleet, Placed, Policy, ReplicaRequest, TypicalMix, mig
from pool.engine.mig_tables import FAMILIES
from pool.engine.moves import Movable, carry_out, plan_moves, taken_by
from pool.engine.trying import try_place
from tests.engine import make

FAMILY = FAMILIES["A100-40GB"]
PROFILES = [profile for profile in FAMILY.profiles if profile.plain]
MIXES = {
    "uniform": [1, 1, 1, 1, 1, 1],
    "small-heavy": [8, 4, 4, 2, 1, 1],
    "large-heavy": [1, 1, 2, 4, 4, 4],
}
CARDS = 100
QUIET = Policy(explain=False)

Take = Callable[[int], object]
Give = Callable[[object], None]


class Engine:
    """Place and release with the engine, which knows the mix; ``most`` moves for what it refuses."""

    def __init__(self, weights: list[int], most: int = 0) -> None:
        requests = [ReplicaRequest(1, mig_profile=profile.name) for profile in PROFILES]
        mix = TypicalMix.observe(list(zip(requests, map(float, weights), strict=True)), coverage=1.0)
        nodes = [make.node(k, *(make.a100(100 * k + i) for i in range(4))) for k in range(1, CARDS // 4 + 1)]
        self.fleet, self.requests, self.most = Fleet.build(nodes, mix=mix), requests, most
        self.live: dict[int, Movable] = {}
        self.on: dict[int, list[Movable]] = {node.key: [] for node in nodes}
        self.count = self.moves = 0

    def take(self, which: int) -> object:
        """The number of the instance, or None."""
        self.count += 1
        job = make.job(self.requests[which], key=self.count)
        decision = try_place(self.fleet, job, QUIET)
        if isinstance(decision, Placed):
            self._add(Movable(job, self.fleet.apply(decision, job.tenant, job.trust_group)))
            return self.count
        plan = plan_moves(self.fleet, job, self.on, QUIET, self.most) if self.most else None
        if plan is None:
            return None
        holds = carry_out(self.fleet, job, plan)
        for move in plan.moves:
            self._drop(move.movable.job.key)
            self._add(Movable(move.movable.job, taken_by(move.movable.job, move.to)))
        self._add(Movable(job, holds))
        self.moves += len(plan.moves)
        return self.count

    def give(self, number: object) -> None:
        """Release an instance wherever it is by now."""
        assert isinstance(number, int)
        for hold in self._drop(number).holds:
            self.fleet.release(hold)

    def _add(self, movable: Movable) -> None:
        self.live[movable.job.key] = movable
        insort(self.on[movable.node_key], movable, key=lambda m: m.order)

    def _drop(self, key: int) -> Movable:
        movable = self.live.pop(key)
        self.on[movable.node_key].remove(movable)
        return movable


def simple(best: bool) -> tuple[Take, Give]:
    """First fit, or best fit by free slices; each at the lowest start that is free."""
    cards = [0] * CARDS

    def take(which: int) -> object:
        profile = PROFILES[which]
        found = []
        for number, occupied in enumerate(cards):
            start = next((s for s in profile.starts if not occupied & mig.mask(s, profile.units)), None)
            if start is not None:
                found.append((8 - occupied.bit_count() if best else 0, number, start))
        if not found:
            return None
        _, number, start = min(found)
        cards[number] |= mig.mask(start, profile.units)
        return number, mig.mask(start, profile.units)

    def give(held: object) -> None:
        number, bits = held  # type: ignore[misc]
        cards[number] &= ~bits

    return take, give


def run(weights: list[int], load: float, arrivals: int, take: Take, give: Give, seed: int = 1) -> tuple[float, float]:
    """Share accepted and time-average share of slices used."""
    rng = random.Random(seed)
    mean = sum(w * p.units for w, p in zip(weights, PROFILES, strict=True)) / sum(weights)
    rate = load * CARDS * 8 / mean  # with a mean stay of 1
    now = used = area = 0.0
    accepted, leaving = 0, []
    for count in range(arrivals):
        then = now + rng.expovariate(rate)
        while leaving and leaving[0][0] <= then:
            end, _, units, held = heapq.heappop(leaving)
            area, now, used = area + used * (end - now), end, used - units
            give(held)
        area, now = area + used * (then - now), then
        which = rng.choices(range(len(PROFILES)), weights)[0]
        stay = rng.expovariate(1.0)
        held = take(which)
        if held is not None:
            accepted += 1
            used += PROFILES[which].units
            heapq.heappush(leaving, (now + stay, count, PROFILES[which].units, held))
    return 100 * accepted / arrivals, 100 * area / now / (CARDS * 8)


def compare(name: str, load: float, arrivals: int, seeds: range) -> None:
    """One mix under one load: all rules over the same arrivals."""
    weights, moves = MIXES[name], 0.0
    found: dict[str, list[tuple[float, float]]] = {}
    begun = time.process_time()
    for seed in seeds:
        plain, moving = Engine(weights), Engine(weights, most=1)
        for rule, (take, give) in {
            "first fit": simple(False),
            "best fit": simple(True),
            "engine": (plain.take, plain.give),
            "one move": (moving.take, moving.give),
        }.items():
            found.setdefault(rule, []).append(run(weights, load, arrivals, take, give, seed))
        moves += 100 * moving.moves / arrivals / len(seeds)
    means = {rule: [statistics.fmean(column) for column in zip(*rows, strict=True)] for rule, rows in found.items()}
    line = "  ".join(f"{rule} {accepted:5.2f} / {used:5.2f}" for rule, (accepted, used) in means.items())
    over = [
        [mine - theirs for mine, theirs in zip(ours, best, strict=True)]
        for ours, best in zip(found["one move"], found["best fit"], strict=True)
    ]
    gains = "  ".join(
        f"{statistics.fmean(column):+.2f} (sd {statistics.stdev(column) if len(column) > 1 else 0:.2f})"
        for column in zip(*over, strict=True)
    )
    each = (time.process_time() - begun) / len(seeds) / arrivals * 1e6
    print(
        f"{name:12} load {load:4}: {line}  over best fit {gains}  moves {moves:.1f} %  ({each:.0f} us CPU, all)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrivals", type=int, default=40_000)
    parser.add_argument("--seeds", default="1-10")
    parser.add_argument("--mixes", default=",".join(MIXES))
    parser.add_argument("--loads", default="0.85,1.0")
    chosen = parser.parse_args()
    first, _, last = chosen.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    print(f"{CARDS} cards, {chosen.arrivals} arrivals, seeds {seeds}; accepted % / slices used %")
    for name in chosen.mixes.split(","):
        for load in map(float, chosen.loads.split(",")):
            compare(name, load, chosen.arrivals, seeds)


if __name__ == "__main__":
    main()
