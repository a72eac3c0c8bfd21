"""T29: a queue that deserves 4 gets 4, not 3 for ever, whatever the sizes in the way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pool.engine import ReplicaRequest
from pool.engine.preempt import Rules
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import cards, gpu, pool, queue
from tests.scheduling.sharing.world import World as Pool


@pytest.mark.parametrize("theirs", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("ours", [1, 2, 4])
def test_t29(theirs: int, ours: int) -> None:
    rules = Rules(cooldown_s=0, reclaim_to="quota")
    world = World(make.nodes(1, 8), pool(8, queue(1, 4), queue(2, 4)), rules)
    for key in range(1, 9):
        world.submit(key, 1, make.job(ReplicaRequest(1), theirs))
    world.settle()
    for key in range(20, 20 + 4 // ours):
        world.submit(key, 2, make.job(ReplicaRequest(1), ours))
    world.settle()
    assert world.cards(2) == 4


def test_below_a_parent_whose_other_child_took_its_part() -> None:
    """The deserving queue's sibling is over, and so is a queue elsewhere: both give."""
    queues = (queue(1, 8), queue(2, 4, parent=1), queue(3, 4, parent=1), queue(4, 4))
    world = World(make.nodes(3, 4), pool(12, *queues), Rules(cooldown_s=0))
    for key in range(1, 7):
        world.submit(key, 3, make.job(ReplicaRequest(1)))
        world.submit(key + 50, 4, make.job(ReplicaRequest(1)))
    world.settle()
    assert (world.cards(3), world.cards(4)) == (6, 6)
    world.submit(99, 2, make.job(ReplicaRequest(4)))
    world.settle()
    assert [world.cards(key) for key in (2, 3, 4)] == [4, 4, 4]
    assert world.evictions == 4


def test_a_quota_of_thirds_is_met_to_the_card() -> None:
    """A third of 12 is 4 and not 3.999999."""
    tree = pool(12, queue(1, weight=333), queue(2, weight=333), queue(3, weight=333))
    world = World(make.nodes(3, 4), tree, Rules(cooldown_s=0))
    for key in range(1, 13):
        world.submit(key, 1, make.job(ReplicaRequest(1)))
    world.settle()
    world.submit(50, 2, make.job(ReplicaRequest(4)))
    world.submit(51, 3, make.job(ReplicaRequest(4)))
    world.settle()
    assert [world.cards(key) for key in (1, 2, 3)] == [4, 4, 4]
    assert gpu(4)[0] == cards(4)


@pytest.mark.django_db
@pytest.mark.parametrize("theirs", [1, 3, 8])
def test_t29_through_the_database(theirs: int) -> None:
    deserving = Pool(cards=8)
    other, mine = deserving.tenant("other", quota_share_bp=40_000), deserving.tenant("mine", quota_share_bp=40_000)
    deserving.submit(other, 8 // theirs, gpus=theirs)
    deserving.settle()
    deserving.now += timedelta(minutes=10)
    deserving.submit(mine, 4)
    deserving.settle()
    assert deserving.cards(mine) == 4
