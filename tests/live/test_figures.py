"""Charts of the pool: short histories have marks that differ."""

from datetime import timedelta
from typing import Any

import pytest

from console.common import clock
from console.web.figures import queue_depth
from pool.nodes.models import PoolSample


def axis(minutes: int) -> dict[str, Any]:
    """Of a history with a sample a minute."""
    now = clock.now().replace(second=0, microsecond=0)
    samples = [PoolSample(at=now - timedelta(minutes=back), queued_jobs=1) for back in reversed(range(minutes))]
    found: dict[str, Any] = queue_depth(samples)["layout"]["xaxis"]
    return found


@pytest.mark.parametrize("minutes", [1, 2, 10])
def test_minutes_are_shown_as_ten_with_a_mark_every_second_one(minutes: int) -> None:
    shown = axis(minutes)
    assert shown["dtick"] == 2 * 60 * 1000
    first, last = shown["range"]
    assert first < last


@pytest.mark.parametrize("minutes", [0, 11, 360])
def test_longer_ones_and_none_are_left_to_the_chart(minutes: int) -> None:
    assert "range" not in axis(minutes)
