"""T16: 8 cards; four jobs of two pods, then another project's job of four: 4 and 4, with one round of
preemption. A job of three starts no loop."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pool.engine import ReplicaRequest
from pool.scheduling.models import Victim
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue
from tests.scheduling.sharing.world import World as Pool


def world() -> World:
    found = World(make.nodes(2, 4), pool(8, queue(1), queue(2)))
    for key in range(1, 5):
        found.submit(key, 1, make.job(ReplicaRequest(1), 2))
    found.settle()
    assert found.cards(1) == 8
    return found


def test_t16() -> None:
    pods = world()
    pods.submit(9, 2, make.job(ReplicaRequest(1), 4))
    pods.settle()
    assert (pods.cards(1), pods.cards(2)) == (4, 4)
    assert pods.evictions == 2
    assert pods.running(2) == [9]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_no_job_size_starts_a_loop(size: int) -> None:
    pods = world()
    pods.submit(9, 2, make.job(ReplicaRequest(1), size))
    pods.settle()
    assert pods.evictions == (0 if size > 4 else -(-size // 2))
    assert pods.running(2) == ([] if size > 4 else [9])


@pytest.mark.django_db
@pytest.mark.parametrize(("size", "rounds"), [(4, 2), (3, 2), (5, 0)])
def test_t16_through_the_database(size: int, rounds: int) -> None:
    """One round of preemption, and no loop for any size."""
    project = Pool(cards=8, nodes=2)
    first, second = project.tenant("first"), project.tenant("second")
    project.submit(first, 4, replicas=2)
    project.settle()
    project.now += timedelta(minutes=10)
    project.submit(second, replicas=size)
    project.settle()
    assert Victim.objects.count() == rounds
    project.now += timedelta(minutes=10)
    assert project.settle() == 0
    assert Victim.objects.count() == rounds
