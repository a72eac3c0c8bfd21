"""T20: a half-life of 0 is refused, an unset one is defined; what held or suspended work holds counts."""

from __future__ import annotations

import pytest

from pool.engine.sharing import Memory, Use, past_use, weights_by_use
from tests.engine.sharing.make import pool, queue


@pytest.mark.parametrize("value", [0, -1])
def test_t20(value: int) -> None:
    with pytest.raises(ValueError, match=r"half_life_s: .* leave it out for no decay"):
        Memory(half_life_s=value)
    with pytest.raises(ValueError, match=r"window_s: .* set strength to 0"):
        Memory(window_s=value)


def test_an_unset_half_life_counts_the_whole_window_alike_and_fairness_stays_on() -> None:
    memory = Memory(window_s=1_000)
    assert past_use([Use(0, 10, 7)], 1_000, memory) == past_use([Use(990, 1_000, 7)], 1_000, memory) == 70
    weights = weights_by_use(pool(8, queue(1), queue(2)), {1: 10, 2: 30}, memory)
    assert weights[1] > weights[2]


def test_what_is_held_counts_however_idle_it_is() -> None:
    """469 and not 7: use is what was held, and a suspended job that keeps its cards goes on holding."""
    memory = Memory(window_s=3_600)
    running, suspended = Use(0, 60, 100), Use(60, 3_600, 100)
    assert past_use([running, suspended], 3_600, memory) == 3_600 * 100
