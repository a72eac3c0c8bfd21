"""T19: a queue without a guarantee triggers no preemption (where reclaim goes up to quotas); a queue
below its guarantee is never a victim."""

from __future__ import annotations

import pytest

from pool.engine import ReplicaRequest
from pool.engine.preempt import NoPlan, Plan, Rules
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue

RULES = Rules(cooldown_s=0, reclaim_to="quota")


def test_t19_no_guarantee_no_preemption() -> None:
    world = World(make.nodes(1, 4), pool(4, queue(1, 1), queue(2)), RULES)
    for key in range(1, 5):
        world.submit(key, 1, make.job(ReplicaRequest(1)))
    world.settle()
    world.submit(9, 2, make.job(ReplicaRequest(1)), priority=1_000)
    refused = world.plan(9)
    assert isinstance(refused, NoPlan)
    assert refused.reason == "not_entitled"
    assert world.settle() == 0


@pytest.mark.parametrize("reclaim_to", ["quota", "fair_share"])
def test_t19_below_its_guarantee_never_a_victim(reclaim_to: str) -> None:
    """One below, one at its guarantee, one above: only the last loses, whatever the priorities."""
    queues = (queue(1, 3), queue(2, 2), queue(3, 1), queue(4, 2))
    rules = Rules(cooldown_s=0, reclaim_to="quota" if reclaim_to == "quota" else "fair_share")
    world = World(make.nodes(2, 4), pool(8, *queues), rules)
    for key, owner in enumerate([1, 1, 2, 2, 3, 3, 3, 3], start=1):
        world.submit(key, owner, make.job(ReplicaRequest(1)), priority=9 if owner == 3 else 1)
    world.settle()
    world.submit(20, 4, make.job(ReplicaRequest(1), 2), priority=0)
    found = world.plan(20)
    assert isinstance(found, Plan)
    assert {victim.queue for victim in found.victims} == {3}
    world.settle()
    assert [world.cards(key) for key in (1, 2, 3, 4)] == [2, 2, 2, 2]
