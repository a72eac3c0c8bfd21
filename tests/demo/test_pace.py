"""The pace against a fleet on a virtual clock: fills quickly, then stays between 85 and 90 %."""

import heapq
from random import Random

import pytest

from console.demo.load.mix import arrival
from console.demo.load.pace import WHOLE, Level, Pace, arrivals
from console.demo.load.tasks import tasks
from tests.demo.test_mix import cards_of

CARDS = 1024


def simulate(seconds: int, step: float = 0.5) -> list[float]:
    """Shares held after each step; a job starts as soon as that many cards are free, in order of arrival."""
    rng, pace, shares = Random(5), Pace(), []
    held, number, waiting = 0.0, 0, []
    ends: list[tuple[float, float]] = []
    for tick in range(int(seconds / step)):
        now = tick * step
        while ends and ends[0][0] <= now:
            held -= heapq.heappop(ends)[1]
        queued = round(sum(cards for cards, _ in waiting) * WHOLE)
        level = Level(CARDS * WHOLE, round(held * WHOLE), queued, len(waiting))
        for _ in range(arrivals(rng, pace.rate(level), step)):
            number += 1
            job = arrival(rng, tasks(), number)
            waiting.append((cards_of(job), float(job.spec["environment"]["WEIR_SIM_SECONDS"])))
        while waiting and held + waiting[0][0] <= CARDS:
            cards, length = waiting.pop(0)
            held += cards
            heapq.heappush(ends, (now + length, cards))
        shares.append(held / CARDS)
    return shares


def test_fills_within_half_a_minute_and_stays_near_the_target() -> None:
    shares = simulate(3600)
    assert shares[19] > 0.3  # ten seconds: there is something to see
    assert shares[90] > 0.8
    settled = shares[240:]
    mean = sum(settled) / len(settled)
    assert 0.85 <= mean <= 0.9
    within = sum(0.8 <= share <= 0.95 for share in settled) / len(settled)
    assert within > 0.95


@pytest.mark.parametrize(
    "level",
    [
        Level(0, 0, 0, 0),
        Level(CARDS * WHOLE, 0, 0, Pace().most_queued_jobs),
        Level(CARDS * WHOLE, CARDS * WHOLE, 2 * CARDS * WHOLE, 5),
    ],
)
def test_nothing_arrives_without_a_fleet_or_at_a_full_one(level: Level) -> None:
    assert Pace().rate(level) == 0.0


def test_what_waits_for_a_limit_does_not_stop_the_others() -> None:
    stuck = Level(CARDS * WHOLE, CARDS * WHOLE // 2, CARDS * WHOLE, 30)
    assert Pace().rate(stuck) > 1


def test_arrivals_are_poisson_and_bounded() -> None:
    rng = Random(3)
    counts = [arrivals(rng, 3.0, 0.5) for _ in range(4000)]
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    assert mean == pytest.approx(1.5, rel=0.05)
    assert variance == pytest.approx(1.5, rel=0.1)
    assert max(arrivals(rng, 1e6, 1.0) for _ in range(50)) == 20
    assert arrivals(rng, 0.0, 1.0) == 0
