"""The parts that take a gang: as few as can be, the last one the tightest, equal ones by score."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.packing import fewest, parts_needed
from tests.reference import topology as reference
from tests.reference.examples import examples


def of(sizes: list[int], count: int, best: list[int] | None = None) -> dict[int, int]:
    parts, shares = fewest(np.array(sizes), np.array(best or list(range(len(sizes)))), count)
    return dict(zip(parts.tolist(), shares.tolist(), strict=True))


def test_one_part_the_tightest_that_holds_it() -> None:
    assert of([8, 4, 6, 5], 5) == {3: 5}
    assert of([8, 4, 6, 5], 9) == {0: 8, 1: 1}
    assert of([8, 4, 6, 5], 14) == {0: 8, 2: 6}
    assert of([3, 3, 3], 0) == {}


def test_equal_parts_by_score() -> None:
    assert of([4, 4, 4], 3, [7, 2, 5]) == {1: 3}
    assert of([4, 4, 4], 7, [7, 2, 5]) == {1: 4, 2: 3}
    assert of([4, 2, 2], 5, [1, 9, 3]) == {0: 4, 2: 1}


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=7), part=st.integers(1, 100))
def test_never_more_parts_than_needed(sizes: list[int], part: int) -> None:
    count = sum(sizes) * part // 100
    chosen = of(sizes, count)
    assert sum(chosen.values()) == count
    assert all(0 < share <= sizes[at] for at, share in chosen.items())
    assert len(chosen) == reference.fewest_parts(sizes, count)
    needed = parts_needed(np.zeros(len(sizes), dtype=np.int64), 1, np.array(sizes), count)
    assert int(needed[0]) == len(chosen)


def test_nodes_needed_by_domain() -> None:
    number, room = np.array([0, 1, 0, 1, 2, 2]), np.array([4, 1, 2, 1, 9, 9])
    assert parts_needed(number, 3, room, 5).tolist() == [2, 2, 1]
