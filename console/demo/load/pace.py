"""How many jobs arrive now: a Poisson stream whose rate keeps the fleet at its target. Pure."""

import math
from dataclasses import dataclass
from random import Random
from typing import Final

WHOLE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Level:
    """What the fleet holds, in basis points of a card. `queued_bp`: what waits."""

    capacity_bp: int
    held_bp: int
    queued_bp: int
    queued_jobs: int

    @property
    def share(self) -> float:
        return self.held_bp / self.capacity_bp if self.capacity_bp else 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """`target`: share of the fleet to hold. `mean_cards`, `mean_seconds`: of one job of the mix.

    The steady rate replaces what ends (Little's law); on top of it the gap to the target is closed in
    `closing_s`, faster while the fleet is nearly empty. Waiting work counts as on its way, up to a tenth of
    the fleet: what waits for a limit of its queue must not keep everybody else's work away.
    """

    target: float = 0.875
    mean_cards: float = 7.8
    mean_seconds: float = 430.0
    closing_s: float = 15.0
    burst_closing_s: float = 4.0
    most_queued_jobs: int = 80

    def rate(self, level: Level) -> float:
        """Jobs a second; 0 while there is no fleet or enough waits already."""
        if level.capacity_bp <= 0 or level.queued_jobs >= self.most_queued_jobs:
            return 0.0
        wanted = self.target * level.capacity_bp
        coming = min(level.queued_bp, level.capacity_bp // 10)
        gap = wanted - level.held_bp - coming
        closing = self.burst_closing_s if gap > 0.3 * level.capacity_bp else self.closing_s
        job_bp = self.mean_cards * WHOLE
        steady = wanted / job_bp / self.mean_seconds
        return max(0.0, steady + gap / job_bp / closing)


def arrivals(rng: Random, rate: float, seconds: float, most: int = 20) -> int:
    """A Poisson number of arrivals, at most `most`, so that one step stays short."""
    limit, product, count = math.exp(-min(rate * seconds, 50.0)), rng.random(), 0
    while product > limit and count < most:
        product *= rng.random()
        count += 1
    return count
