"""MIG slices on 100 cut cards under arrivals and departures, decided by the real engine.

Poisson arrivals, exponential stay, loss, six plain profiles of an 8-slice card; prints the
share of requests accepted and the time-average of memory slices in use, with a best-fit and a
first-fit rule beside it.  python -m tests.bench.engine_mig [arrivals]
"""

from __future__ import annotations

import heapq
import random
import sys
import time
from collections.abc import Callable

from pool.engine import Fleet, Placed, Policy, ReplicaRequest, TypicalMix, mig
from pool.engine.mig_tables import FAMILIES
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

Take = Callable[[int], object]
Give = Callable[[object], None]


def engine(weights: list[int]) -> tuple[Take, Give]:
    """Place and release with the engine, which knows the mix."""
    requests = [ReplicaRequest(1, mig_profile=profile.name) for profile in PROFILES]
    mix = TypicalMix.observe(list(zip(requests, map(float, weights), strict=True)), coverage=1.0)
    nodes = [make.node(k, *(make.a100(100 * k + i) for i in range(4))) for k in range(1, CARDS // 4 + 1)]
    fleet = Fleet.build(nodes, mix=mix)
    jobs = [make.job(request) for request in requests]

    def take(which: int) -> object:
        decision = try_place(fleet, jobs[which], Policy(explain=False))
        return fleet.apply(decision, "t1", "g1") if isinstance(decision, Placed) else None

    def give(holds: object) -> None:
        for hold in holds:  # type: ignore[attr-defined]
            fleet.release(hold)

    return take, give


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


def main() -> None:
    arrivals = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
    print(f"{CARDS} cards, {arrivals} arrivals; accepted % / slices used %")
    for name, weights in MIXES.items():
        for load in (0.85, 1.0):
            line = f"{name:12} load {load:4}: "
            rules = (("first fit", simple(False)), ("best fit", simple(True)), ("engine", engine(weights)))
            for rule, (take, give) in rules:
                begun = time.process_time()
                accepted, used = run(weights, load, arrivals, take, give)
                each = (time.process_time() - begun) / arrivals * 1e6
                line += f"{rule} {accepted:5.2f} / {used:5.2f} ({each:.0f} us CPU)   "
            print(line, flush=True)


if __name__ == "__main__":
    main()
