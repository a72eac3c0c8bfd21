"""Whether the range told to those who wait is true: its coverage on the run times of a real trace.

    python -m tests.bench.wait_estimate [--cards 64] [--jobs 8000] [--asks 60]

Run times: Alibaba cluster-trace-gpu-v2020, 83,154 jobs, sorted in the file and shuffled here. A range from p10 to p90
should hold 80 % of the true starts.
"""

import argparse
import time

import numpy as np

from tests.engine.ahead.calibration import DEPTH, Asked, calibrate, coverage
from tests.shared_data import data_file, describe


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=8_000)
    parser.add_argument("--asks", type=int, default=60)
    given = parser.parse_args()
    print(describe())
    every = np.loadtxt(data_file("runtimes-pai-v2020.csv"), skiprows=1)
    for seed in (42, 43, 44):
        spans = np.maximum(np.random.default_rng(seed).permutation(every)[: given.jobs], 1.0)
        for load in (1.05, 1.5):
            began = time.process_time()
            found = calibrate(spans, given.cards, given.asks, seed, load)
            tell(f"seed {seed}, load {load}", found, time.process_time() - began, given.asks)


def tell(name: str, found: list[Asked], cpu_s: float, asks: int) -> None:
    if not found:
        print(f"{name}: nobody waited")
        return
    places = ", ".join(
        f"place {place + 1}: {coverage(some):.0%} of {len(some)}"
        for place in DEPTH
        if (some := [each for each in found if each.place == place])
    )
    below = sum(each.true < each.early for each in found) / len(found)
    above = sum(each.true > each.late for each in found) / len(found)
    open_ended = sum(each.late == float("inf") for each in found)
    off = np.median([abs(each.middle - each.true) / max(each.true, 60.0) for each in found])
    each = cpu_s / asks * 1000
    print(f"{name}: inside {coverage(found):.1%} ({places}); sooner {below:.1%}, later {above:.1%};")
    print(f"   open to the right {open_ended}; median error of the middle {off:.0%}; CPU an asking {each:.0f} ms")


if __name__ == "__main__":
    main()
