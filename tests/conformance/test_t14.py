"""T14: a pool of 4; A runs two, then a2, b0, b1 arrive: A 2 and B 2, not 3 and 1."""

from __future__ import annotations

from itertools import permutations

import pytest

from pool.engine import ReplicaRequest
from pool.scheduling.models import Victim
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue
from tests.scheduling.sharing.world import World as Pool


@pytest.mark.parametrize("arrival", list(permutations([("a", 1), ("b", 2), ("b", 2)])))
def test_t14(arrival: tuple[tuple[str, int], ...]) -> None:
    world = World(make.nodes(1, 4), pool(4, queue(1), queue(2)))
    for key in (1, 2):
        world.submit(key, 1, make.job(ReplicaRequest(1)))
    world.settle()
    assert world.cards(1) == 2
    for key, (_, owner) in enumerate(arrival, start=3):
        world.submit(key, owner, make.job(ReplicaRequest(1)))
    world.settle()
    assert (world.cards(1), world.cards(2)) == (2, 2)
    assert world.evictions == 0


def test_even_if_a_had_all_of_it_first() -> None:
    """Whoever comes late gets the half back, and then nothing moves any more."""
    world = World(make.nodes(1, 4), pool(4, queue(1), queue(2)))
    for key in range(1, 6):
        world.submit(key, 1, make.job(ReplicaRequest(1)))
    world.settle()
    assert world.cards(1) == 4
    for key in (6, 7, 8):
        world.submit(key, 2, make.job(ReplicaRequest(1)))
    world.settle()
    assert (world.cards(1), world.cards(2)) == (2, 2)
    assert world.evictions == 2
    assert world.settle() == 0


@pytest.mark.django_db
def test_t14_through_the_database() -> None:
    pool = Pool(cards=4)
    a, b = pool.tenant("a"), pool.tenant("b")
    pool.submit(a, 2)
    pool.settle()
    pool.submit(a, 1)
    pool.submit(b, 2)
    pool.settle()
    assert (pool.cards(a), pool.cards(b)) == (2, 2)
    assert not Victim.objects.exists()
