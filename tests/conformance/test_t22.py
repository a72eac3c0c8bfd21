"""T22: a GPU-hour budget is checked against the wall time asked for, and refunded at an early end."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from pool.engine.sharing import Budget, Purse
from pool.scheduling.models import JobState
from pool.scheduling.services import set_budget
from tests.conftest import Actors
from tests.engine.sharing.make import cards, pool, queue
from tests.scheduling.sharing.world import World, states

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


@pytest.mark.django_db
def test_t22_through_the_database(actors: Actors) -> None:
    """100 card-hours: eight cards for ten hours leave 20; four for six do not fit, until the eight end early."""
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(100)})
    world = World(cards=16)
    (first,) = world.submit(actors.a, gpus=8, max_duration=10 * HOUR)
    (second,) = world.submit(actors.a, gpus=4, max_duration=6 * HOUR)
    world.scheduler.sweep()
    world.run()
    assert states(first, second) == [JobState.RUNNING, JobState.QUEUED]
    limit = second.decisions.get().reasons["limit"]
    assert (limit["scope"], limit["limit"] - limit["used"]) == ("budget", 20 * 10_000 * HOUR)
    world.now += timedelta(minutes=30)
    world.finish(first)  # 76 of its 80 hours are refunded
    world.scheduler.sweep()
    assert states(second) == [JobState.STARTING]
