"""A pass of defragmentation on a churned fleet of 1,024 cards, beside the same fleet without one.

128 nodes of 8 cards (16 of them in MIG mode), placed by the engine. Poisson arrivals and exponential
stays fill the pool beyond what it holds (offered load 1.2, what does not fit is lost), then few
arrive for a while (offered load ``--night``): what is left lies scattered. The plan is made then, all
its moves carried out, and the same arrivals (offered load ``--day``) come to both fleets. Every job
saves its state each half hour and takes a minute to start again; a move loses what it did since.

Prints, a seed a line: free share; fragmentation (free capacity that no typical class can use, over
all) and the mean over the classes, before and after; moves, lost GPU-seconds, seconds (CPU) of the
plan; then how much of the work of 8 cards and of all work that came was accepted with and without,
and GPU-hours that ran more; lost GPU-seconds without a pass are 0. At last means over the seeds.

  python -m tests.bench.defrag_sweep [--seeds 1-5] [--nodes 128] [--moves 128] [--night 0.6] [--day 1.0]
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pool.engine import Fleet, NodeSpec, Placed, Policy, ReplicaRequest, TypicalMix
from pool.engine.defrag import Budget, Work, plan_sweep
from pool.engine.moves import Movable, taken_by
from pool.engine.trying import try_place
from tests.engine import make

QUIET = Policy(explain=False)
STAY_S, SAVES_S, RESTART_S = 4 * 3600.0, 1800, 60
PLAIN = [(1, 10_000, 25), (1, 5_000, 20), (1, 2_500, 15), (1, 1_250, 10), (1, 1_000, 5), (2, 10_000, 10)]
LARGE = [(4, 10_000, 5), (8, 10_000, 10)]
SLICES = [("1g.5gb", 8), ("2g.10gb", 4), ("3g.20gb", 3), ("7g.40gb", 1)]
Arrival = tuple[float, float, int]  # when, how long, which class


def classes() -> list[tuple[ReplicaRequest, int]]:
    """The typical work, with its weights."""
    whole = [
        (ReplicaRequest(count, share, cpu_milli=8 * share * count // 10), weight)
        for count, share, weight in PLAIN + LARGE
    ]
    return whole + [(ReplicaRequest(1, mig_profile=name, cpu_milli=1_000), weight) for name, weight in SLICES]


def nodes(count: int) -> list[NodeSpec]:
    """Every eighth is in MIG mode."""
    return [
        make.node(
            key,
            *(make.a100(100 * key + i) if key % 8 == 0 else make.card(100 * key + i, "H", 81_920) for i in range(8)),
            cpu=128_000,
            memory=2_000_000,
        )
        for key in range(1, count + 1)
    ]


@dataclass(slots=True)
class Pool:
    """A fleet and what runs on it, with the end of each job."""

    fleet: Fleet
    live: dict[int, Movable] = field(default_factory=dict)
    saved: dict[int, float] = field(default_factory=dict)  # moment of the last checkpoint's phase
    ends: list[tuple[float, int]] = field(default_factory=list)
    asked: dict[int, int] = field(default_factory=dict)
    took: dict[int, int] = field(default_factory=dict)
    ran: float = 0.0  # bp-seconds

    def run(self, arrivals: Sequence[Arrival], work: Sequence[ReplicaRequest], first: int) -> None:
        for number, (at, stay, which) in enumerate(arrivals, first):
            self.until(at)
            request = work[which]
            self.asked[which] = self.asked.get(which, 0) + 1
            job = make.job(request, key=number, tenant=f"t{number % 5}", trust_group="g")
            placed = try_place(self.fleet, job, QUIET)
            if not isinstance(placed, Placed):
                continue
            self.took[which] = self.took.get(which, 0) + 1
            self.live[number] = Movable(job, self.fleet.apply(placed, job.tenant, job.trust_group))
            self.saved[number] = at
            self.ran += stay * share_of(self.live[number])
            heapq.heappush(self.ends, (at + stay, number))

    def until(self, at: float) -> None:
        while self.ends and self.ends[0][0] <= at:
            for hold in self.live.pop(heapq.heappop(self.ends)[1]).holds:
                self.fleet.release(hold)

    def copy(self) -> Pool:
        holds = [hold for movable in self.live.values() for hold in movable.holds]
        fleet = Fleet.build(self.fleet.nodes, holds, self.fleet.mix)
        return Pool(fleet, dict(self.live), dict(self.saved), list(self.ends))


def share_of(movable: Movable) -> int:
    return sum(hold.share_bp for hold in movable.holds)


def arrivals(rng: random.Random, begin: float, span: float, load: float, count: int) -> list[Arrival]:
    """Offered ``load`` of ``count`` cards for so long."""
    weights = [weight for _, weight in classes()]
    sizes = [request.devices * request.share_bp for request, _ in classes()]
    mean = sum(w * s for w, s in zip(weights, sizes, strict=True)) / sum(weights)
    rate, at, found = load * count * 10_000 / mean / STAY_S, begin, []
    while (at := at + rng.expovariate(rate)) < begin + span:
        found.append((at, rng.expovariate(1 / STAY_S), rng.choices(range(len(weights)), weights)[0]))
    return found


def one(seed: int, chosen: argparse.Namespace) -> list[float]:
    """The figures of one seed."""
    rng, work = random.Random(seed), classes()
    mix = TypicalMix.observe([(request, float(weight)) for request, weight in work], coverage=1.0)
    pool = Pool(Fleet.build(nodes(chosen.nodes), mix=mix))
    requests, cards = [request for request, _ in work], 8 * chosen.nodes
    night = 5 * STAY_S
    first = arrivals(rng, 0.0, night, 1.2, cards) + arrivals(rng, night, STAY_S, chosen.night, cards)
    pool.run(first, requests, 1)
    now = night + STAY_S
    pool.until(now)
    plain = pool.copy()
    movables = [
        Movable(m.job, m.holds, max(1, int(share_of(m) * ((now - pool.saved[key]) % SAVES_S + RESTART_S) / 10_000)))
        for key, m in pool.live.items()
    ]
    begun = time.process_time()
    works = [Work(request, weight) for request, weight in pool.fleet.mix.classes]
    sweep = plan_sweep(pool.fleet, works, movables, Budget(moves=chosen.moves))
    took = time.process_time() - begun
    for step in sweep.steps:
        for move in step.moves:
            for hold in move.movable.holds:
                pool.fleet.release(hold)
        for move in step.moves:
            job = move.movable.job
            pool.fleet.apply(move.to, job.tenant, job.trust_group)
            pool.live[job.key] = Movable(job, taken_by(job, move.to))
    later = arrivals(rng, now, chosen.hours * 3600, chosen.day, cards)
    for side in (pool, plain):
        side.asked, side.took, side.ran = {}, {}, 0.0
        side.run(later, requests, 1_000_000)
    before, after = sweep.before, sweep.after
    return [
        100 * before.free / before.capacity,
        before.fragmentation_bp / 100,
        after.fragmentation_bp / 100,
        before.spread_bp / 100,
        after.spread_bp / 100,
        before.lines[_eight(works)].fits,
        after.lines[_eight(works)].fits,
        sweep.moves,
        sweep.cost,
        took,
        _accepted(pool, requests, 8),
        _accepted(plain, requests, 8),
        _accepted(pool, requests, 0),
        _accepted(plain, requests, 0),
        (pool.ran - plain.ran) / 10_000 / 3600,
    ]


def _eight(works: Sequence[Work]) -> int:
    return next(at for at, work in enumerate(works) if work.request.devices == 8)


def _accepted(pool: Pool, requests: Sequence[ReplicaRequest], devices: int) -> float:
    which = [at for at, request in enumerate(requests) if devices in (0, request.devices)]
    asked = sum(pool.asked.get(at, 0) for at in which)
    return 100 * sum(pool.took.get(at, 0) for at in which) / asked if asked else 100.0


NAMES = [
    *("free%", "frag", "frag'", "mean", "mean'", "8x", "8x'", "moves", "lost_s", "plan_s"),
    *("8g%", "8g%none", "all%", "all%none", "gpu_h+"),
]


def show(name: str, row: Sequence[float]) -> None:
    print(f"{name:8}" + "  ".join(f"{n} {value:8.2f}" for n, value in zip(NAMES, row, strict=True)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-5")
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--moves", type=int, default=128)
    parser.add_argument("--night", type=float, default=0.6)
    parser.add_argument("--day", type=float, default=1.0)
    parser.add_argument("--hours", type=float, default=4.0)
    chosen = parser.parse_args()
    low, _, high = chosen.seeds.partition("-")
    print(f"{8 * chosen.nodes} cards, at most {chosen.moves} moves; required: fragmentation after a pass at most 5 %")
    rows = []
    for seed in range(int(low), int(high or low) + 1):
        rows.append(one(seed, chosen))
        show(f"seed {seed}", rows[-1])
    show("mean", [statistics.fmean(column) for column in zip(*rows, strict=True)])


if __name__ == "__main__":
    main()
