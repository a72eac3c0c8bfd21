"""T18: Alice holds all, Bob was idle and asks. Whether he gets his quota or his fair share is a switch
that says so; quotas above the capacity scale; a victim is found behind a queue under its quota."""

from __future__ import annotations

from typing import Literal

import pytest

from pool.engine import ReplicaRequest
from pool.engine.preempt import NoPlan, Plan, Rules
from pool.engine.sharing import standings
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import cards, pool, queue

ALICE, BOB, CAROL = 1, 2, 3


def alone(rules: Rules, alice: float, bob: float) -> World:
    world = World(make.nodes(2, 4), pool(8, queue(ALICE, alice), queue(BOB, bob)), rules)
    for key in range(1, 13):
        world.submit(key, ALICE, make.job(ReplicaRequest(1)))
    world.settle()
    assert world.cards(ALICE) == 8
    for key in range(20, 30):
        world.submit(key, BOB, make.job(ReplicaRequest(1)))
    return world


@pytest.mark.parametrize(("reclaim_to", "bob"), [("quota", 2), ("fair_share", 4)])
def test_t18(reclaim_to: Literal["quota", "fair_share"], bob: int) -> None:
    world = alone(Rules(cooldown_s=0, reclaim_to=reclaim_to), 2, 2)
    world.settle()
    assert (world.cards(ALICE), world.cards(BOB)) == (8 - bob, bob)
    assert world.evictions == bob
    refused = world.plan(29)
    assert isinstance(refused, NoPlan)
    assert (refused.reason, refused.queue) == ("not_entitled", BOB)
    lines = {line.queue: line for line in standings(world.shares(), world.books.used)}
    assert lines[BOB].deserved[0] == cards(2)
    assert lines[BOB].entitlement[0] == cards(4)
    assert lines[BOB].used[0] == cards(bob)
    assert (lines[BOB].bound.kind, lines[BOB].bound.resource) == ("weight", "gpu")


def test_quotas_above_the_capacity_scale_in_proportion() -> None:
    world = alone(Rules(cooldown_s=0, reclaim_to="quota"), 12, 4)
    world.settle()
    assert (world.cards(ALICE), world.cards(BOB)) == (6, 2)


def test_a_victim_is_found_behind_a_queue_under_its_quota() -> None:
    """Carol is under her quota and first in every order; Alice, who is over, loses all the same."""
    queues = (queue(ALICE, 1), queue(BOB, 3), queue(CAROL, 4))
    world = World(make.nodes(2, 4), pool(8, *queues), Rules(cooldown_s=0))
    for key, owner in enumerate([CAROL, *[ALICE] * 7], start=1):
        world.submit(key, owner, make.job(ReplicaRequest(1)))
    world.settle()
    assert (world.cards(ALICE), world.cards(CAROL)) == (7, 1)
    world.submit(20, BOB, make.job(ReplicaRequest(1), 3))
    found = world.plan(20)
    assert isinstance(found, Plan)
    assert [victim.queue for victim in found.victims] == [ALICE] * 3
