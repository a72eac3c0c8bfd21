"""How long entitlements and turns take for 1,000 queues: flat, and as 10 parents of 100.

Prints medians in wall-clock and CPU time: entitlements of the whole tree (ms), a turn (whose turn it
is, books and order brought up to date after a start; microseconds, and p99), a check of what bars a
job (microseconds), and the explanation of all queues (ms).
  python -m tests.bench.engine_sharing [--queues 1000] [--rounds 7]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from pool.engine.sharing import CARD, Amounts, Books, Order, QueueSpec, Tree, entitlements, standings

RNG = random.Random(7)


def tree_of(queues: int, parents: int) -> Tree:
    """Queues of unlike quota, weight and bucket over 10,240 cards."""
    specs = [QueueSpec(100_000 + p) for p in range(1, parents + 1)]
    for key in range(1, queues + 1):
        specs.append(
            QueueSpec(
                key,
                parent=100_001 + key % parents if parents else 0,
                quota=(RNG.randint(0, 12) * CARD, None, None, None),
                limit=(RNG.choice([None, None, 40 * CARD]), None, None, None),
                weight=RNG.choice([1000, 2000, 500, 3333]),
                bucket=RNG.choice([0, 0, 1]),
            )
        )
    return Tree(specs, (10_240 * CARD, 10_240 * 81_920, 10_240 * 16_000, 10_240 * 131_072))


def want() -> Amounts:
    """What some jobs ask for: one in ten of them mostly of CPU."""
    cards = RNG.randint(0, 40)
    return (cards * CARD, cards * 81_920, RNG.choice([1, 1, 1, 1, 9]) * cards * 8_000, cards * 65_536)


def timed(call: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median of wall-clock and of CPU time, in ms."""
    wall, cpu = [], []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        call()
        wall.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
    return statistics.median(wall), statistics.median(cpu)


def turns(tree: Tree, starts: int) -> tuple[list[float], list[float]]:
    """Starts of one card each in fair order: what a turn costs, and a check of bars, in µs."""
    demand = {key: want() for key in tree.leaves}
    shares, books = entitlements(tree, demand), Books(tree)
    order = Order(shares, books)
    for key in tree.leaves:
        order.wait(key, starts)
    card: Amounts = (CARD, 81_920, 8_000, 65_536)
    turn, check = [], []
    for _ in range(starts):
        began = time.perf_counter()
        queue = order.first()
        assert queue is not None
        middle = time.perf_counter()
        books.bars(queue, card)
        after = time.perf_counter()
        books.add(queue, card)
        order.wait(queue, -1)
        turn.append((time.perf_counter() - after + middle - began) * 1e6)
        check.append((after - middle) * 1e6)
    return turn, check


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    print(f"{chosen.queues} queues; required: a turn at most 50 us")
    for parents in (0, 10):
        tree = tree_of(chosen.queues, parents)
        demand = {key: want() for key in tree.leaves}
        wall, cpu = timed(partial(entitlements, tree, demand), chosen.rounds)
        turn, check = turns(tree, 5_000)
        shares = entitlements(tree, demand)
        told, _ = timed(partial(standings, shares, {}), chosen.rounds)
        middle, worst = np.percentile(turn, (50, 99))
        bars = np.percentile(check, 50)
        print(
            f"{parents:3} parents: entitlements {wall:6.1f} ms ({cpu:.1f} CPU)  "
            f"turn p50 {middle:5.1f} p99 {worst:5.1f} us  bars p50 {bars:4.1f} us  explained {told:6.1f} ms"
        )


if __name__ == "__main__":
    main()
