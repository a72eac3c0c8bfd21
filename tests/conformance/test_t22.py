"""T22: a GPU-hour budget is checked against the wall time asked for, and refunded at an early end."""

from __future__ import annotations

from pool.engine.sharing import Budget, Purse
from tests.engine.sharing.make import cards, pool, queue

HOUR = 3_600
TEAM, FIRST, SECOND = 1, 2, 3


def test_t22() -> None:
    tree = pool(16, queue(TEAM), queue(FIRST, parent=TEAM), queue(SECOND, parent=TEAM))
    purse = Purse(tree, {TEAM: Budget(cards(100) * HOUR)})
    assert purse.refuses(FIRST, cards(8), 10 * HOUR, in_quota=True) is None
    purse.start(7, FIRST, cards(8), 10 * HOUR)
    refused = purse.refuses(SECOND, cards(4), 6 * HOUR, in_quota=True)
    assert refused is not None
    assert (refused.queue, refused.left, refused.asked) == (TEAM, cards(20) * HOUR, cards(24) * HOUR)
    purse.end(7, cards(8) * HOUR)  # it ended after one hour of ten
    assert purse.left(TEAM) == cards(92) * HOUR
    assert purse.refuses(SECOND, cards(4), 6 * HOUR, in_quota=True) is None
