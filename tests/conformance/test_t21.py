"""T21: one job bigger than its queue's limit starts nothing at all, and evicts nobody."""

from __future__ import annotations

from pool.engine import JobRequest, ReplicaRequest, RoleRequest
from pool.engine.preempt import NoPlan, Rules
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue


def test_t21() -> None:
    world = World(make.nodes(4, 4), pool(16, queue(1, 4, limit=4), queue(2)))
    head, workers = RoleRequest("head", ReplicaRequest(1), 1, 1), RoleRequest("worker", ReplicaRequest(1), 4, 4)
    world.submit(1, 1, JobRequest(1, "t1", "g1", (head, workers), 5))
    assert world.settle() == 0
    refused = world.plan(1)
    assert isinstance(refused, NoPlan)
    assert refused.barred is not None
    assert (refused.barred.kind, refused.barred.queue) == ("limit", 1)
    assert world.books.used[1] == (0, 0, 0, 0)


def test_work_that_cannot_be_preempted_stays_within_the_quota_where_so_ruled() -> None:
    world = World(make.nodes(4, 4), pool(16, queue(1, 4), queue(2)), Rules(cooldown_s=0, within_quota=True))
    for key in range(1, 17):
        world.submit(key, 2, make.job(ReplicaRequest(1)))
    world.settle()
    world.submit(20, 1, make.job(ReplicaRequest(1), 5), preemptible=False)
    refused = world.plan(20)
    assert isinstance(refused, NoPlan)
    assert refused.reason == "barred"
    assert refused.barred is not None
    assert refused.barred.kind == "quota"
    assert world.evictions == 0
