"""Forward on a virtual clock: the same rule, the same limits, and the fleet as it was."""

import numpy as np

from pool.engine import Fleet, ReplicaRequest
from pool.engine.ahead import Counted, Ends, Run, Starts, look_ahead
from tests.engine import make
from tests.engine.ahead.calibration import pool_of, request


def end(fleet: Fleet, running: list[Ends], waiting: list[Starts], used: dict[object, int] | None = None) -> Run:
    before = fleet.snapshot_id
    *_, found = look_ahead(fleet, running, waiting, used or {}, 1)
    assert fleet.snapshot_id == before
    return found


def full(*ends: float) -> tuple[Fleet, list[Ends]]:
    """Eight cards; so many of them end, the others never."""
    fleet, holds = pool_of(8)
    every = [*ends, *[np.inf] * (8 - len(ends))]
    return fleet, [Ends((hold,), np.array([at])) for hold, at in zip(holds, every, strict=True)]


def waits(key: int, lasts: float = np.inf, cards: int = 1, **more: object) -> Starts:
    job = make.job(ReplicaRequest(cards, isolation="exclusive"), key=key) if cards > 1 else request(key)
    return Starts(key, job, np.array([lasts]), cards, **more)  # type: ignore[arg-type]


def test_one_after_another_as_cards_come_free() -> None:
    fleet, running = full(10, 30)
    found = end(fleet, running, [waits(1, lasts=5), waits(2), waits(3), waits(4)])
    assert found.starts == {1: [10], 2: [15], 3: [30], 4: [np.inf]}


def test_a_large_one_waits_until_enough_is_free_at_once() -> None:
    fleet, running = full(10, 20, 30, 40)
    assert end(fleet, running, [waits(1, cards=4), waits(2)]).starts == {1: [np.inf], 2: [10]}
    assert end(fleet, running, [waits(1, cards=3)]).starts == {1: [30]}


def test_limits_hold_on_the_way() -> None:
    fleet, running = full(10, 20)
    limited = [Ends(each.holds, each.ends, (Counted("queue", 1),)) for each in running]
    mine = (Counted("queue", 1, most=7),)
    found = end(fleet, limited, [waits(1, counted=mine)], {"queue": 8})
    assert found.starts == {1: [20]}


def test_what_is_held_back_starts_nowhere() -> None:
    fleet, running = full(10)
    assert end(fleet, running, [waits(1, held=True), waits(2)]).starts == {1: [np.inf], 2: [10]}


def test_it_can_be_left_at_any_time_and_gone_on_with() -> None:
    fleet, running = full(*range(1, 9))
    steps = list(
        look_ahead(
            fleet,
            [Ends(e.holds, np.repeat(e.ends, 3)) for e in running],
            [waits(n, 2) for n in range(9)][:0] + [Starts(n, request(n), np.repeat(2.0, 3), "card") for n in range(9)],
            {},
            3,
        )
    )
    assert len(steps) > 3
    assert all(len(each) == 3 for each in steps[-1].starts.values())


def test_it_says_where_it_stopped_looking() -> None:
    fleet, running = full(*range(1, 9))
    *_, found = look_ahead(fleet, running, [waits(1, cards=8)], {}, 1, most_events=4)
    assert (found.starts[1], found.horizon) == ([np.inf], 4)


def test_where_nothing_runs_what_fits_starts_now_and_the_rest_never() -> None:
    fleet, _ = pool_of(8)
    fleet = Fleet.build(fleet.nodes)
    assert end(fleet, [], [waits(1), waits(2, cards=64)]).starts == {1: [0], 2: [np.inf]}
