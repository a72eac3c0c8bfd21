"""T13: MIG slices count as the part of a card that they are, in shares, preemption and reclaim alike."""

from __future__ import annotations

from pool.engine import ReplicaRequest
from pool.engine.preempt import Plan
from pool.engine.sharing import CARD
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue


def world() -> World:
    cards = [make.a100(100), make.a100(101)]
    found = World([make.node(1, *cards)], pool(2, queue(1), queue(2)))
    for key in range(1, 15):
        found.submit(key, 1, make.job(ReplicaRequest(1, mig_profile="1g.5gb")))
    found.settle()
    return found


def test_t13_slices_are_counted() -> None:
    slices = world()
    assert len(slices.running(1)) == 14
    assert slices.books.used[1][0] == 14 * (10_000 // 7) * 100
    assert slices.books.used[1][1] > 14 * 4_000
    assert abs(slices.books.used[1][0] - 2 * CARD) < CARD // 500  # two whole cards but for rounding


def test_t13_slices_are_reclaimed_as_many_as_needed() -> None:
    slices = world()
    slices.submit(20, 2, make.job(ReplicaRequest(1, mig_profile="3g.20gb")))
    found = slices.plan(20)
    assert isinstance(found, Plan)
    assert len(found.victims) == 3  # a 3g.20gb lies on four memory slices; the eighth is free already
    slices.settle()
    assert slices.running(2) == [20]
    assert slices.evictions == 3


def test_t13_by_priority_too() -> None:
    slices = world()
    slices.submit(20, 1, make.job(ReplicaRequest(1, mig_profile="2g.10gb")), priority=99)
    found = slices.plan(20)
    assert isinstance(found, Plan)
    assert {victim.because for victim in found.victims} == {"lower_priority"}
    assert len(found.victims) in (1, 2)
