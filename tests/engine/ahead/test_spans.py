"""How long work lasts, with what still runs counted in."""

import numpy as np

from pool.engine.ahead import Spans, survival


def test_without_running_work_it_is_what_was_seen() -> None:
    found = survival([(float(n), True) for n in range(1, 11)])
    assert [round(found.beyond(n), 9) for n in (0, 1, 5, 10)] == [1, 0.9, 0.5, 0]
    parts = np.array([0.05, 0.55, 0.999])
    assert found.lasting(0, parts).tolist() == [1, 6, 10]


def test_what_still_runs_makes_it_longer() -> None:
    """Four ended after 1 to 4 s, six still run after 4: six of ten last longer than 4, how much is not known."""
    found = survival([(float(n), True) for n in range(1, 5)] + [(4.0, False)] * 6)
    assert round(found.beyond(4), 9) == 0.6
    assert found.lasting(0, np.array([0.3, 0.5])).tolist() == [3, np.inf]


def test_what_has_lasted_goes_on_as_those_that_lasted_as_long() -> None:
    found = survival([(1.0, True)] * 90 + [(1_000.0, True)] * 10)
    assert found.lasting(0, np.array([0.5])).tolist() == [1]
    assert found.lasting(2, np.array([0.5])).tolist() == [1_000]
    assert found.beyond(1_000) == 0  # nobody lasted longer: Spans then asks another group


def test_the_narrowest_group_that_knows_speaks() -> None:
    spans = Spans(
        [
            ("few", [(1.0, True)] * 19),
            ("queue", [(10.0, True)] * 40),
            ("pool", [(10.0, True)] * 40 + [(5_000.0, True)] * 40),
        ]
    )
    assert [found[0] for age in (0, 10, 5_000) if (found := spans.of(("few", "queue", "pool"), age))] == [
        "queue",
        "pool",
    ]
    assert spans.of(("few", "none"), 0) is None
