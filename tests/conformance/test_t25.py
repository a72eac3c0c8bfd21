"""T25: whoever needs one victim out of eleven evicts exactly one, and nobody is evicted for a job that
still could not run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from pool.engine import ReplicaRequest
from pool.engine.preempt import NoPlan, Plan
from pool.scheduling.models import Victim
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue
from tests.scheduling.sharing.world import World as Pool


def world(priority: int) -> World:
    found = World(make.nodes(1, 11), pool(11, queue(1, 11, weight=0), queue(2, 11)))
    for key in range(1, 12):
        found.submit(key, 1, make.job(ReplicaRequest(1)), priority, restart_s=100 - key)
    found.settle()
    assert found.cards(1) == 11
    return found


def test_t25_by_priority() -> None:
    full = world(priority=1)
    full.submit(20, 1, make.job(ReplicaRequest(1)), priority=9)
    found = full.plan(20)
    assert isinstance(found, Plan)
    assert len(found.victims) == 1
    full.settle()
    assert full.evictions == 1
    assert full.running(1) == [*range(1, 11), 20]


def test_t25_by_reclaim() -> None:
    full = World(make.nodes(1, 11), pool(11, queue(1), queue(2, 1)))
    for key in range(1, 12):
        full.submit(key, 1, make.job(ReplicaRequest(1)))
    full.settle()
    full.submit(20, 2, make.job(ReplicaRequest(1)))
    full.settle()
    assert (full.evictions, full.cards(2)) == (1, 1)


@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_as_many_as_needed_and_the_cheapest(size: int) -> None:
    full = world(priority=1)
    full.now_s += 5_000
    full.submit(20, 1, make.job(ReplicaRequest(1), size), priority=9)
    found = full.plan(20)
    assert isinstance(found, Plan)
    dearest = sorted(full.roster.jobs, key=lambda key: -full.roster.jobs[key].lost_s(full.now_s))
    assert {victim.job_key for victim in found.victims} == set(dearest[11 - size :])
    assert found.cost == sum(victim.cost for victim in found.victims)


def test_never_for_a_job_that_still_cannot_run() -> None:
    full = world(priority=1)
    for size, reason in [(12, "never"), (11, "not_entitled")]:
        full.submit(100 + size, 1, make.job(ReplicaRequest(1), size), priority=1)
        refused = full.plan(100 + size)
        assert isinstance(refused, NoPlan)
        assert refused.reason == reason
    full.roster.add(replace(full.roster.jobs[3], preemptible=False))
    full.submit(30, 1, make.job(ReplicaRequest(1), 11), priority=9)
    refused = full.plan(30)
    assert isinstance(refused, NoPlan)
    assert refused.reason == "not_enough"
    assert full.evictions == 0


@pytest.mark.django_db
def test_t25_through_the_database() -> None:
    pool = Pool(cards=11)
    greedy, late = pool.tenant("greedy"), pool.tenant("late", quota_share_bp=10_000)
    pool.submit(greedy, 11)
    pool.settle()
    pool.now += timedelta(minutes=10)
    pool.submit(late, gpus=11)
    pool.settle()
    assert not Victim.objects.exists()
    pool.submit(late)
    pool.settle()
    assert (Victim.objects.count(), pool.cards(late), pool.cards(greedy)) == (1, 1, 10)
