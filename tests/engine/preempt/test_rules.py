"""Guards, costs and the pieces that jobs are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pool.engine import JobRequest, ReplicaRequest, RoleRequest
from pool.engine.preempt import NoPlan, Plan, Roster, Rules
from pool.engine.preempt.units import units_of
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue

ONE = ReplicaRequest(1)


def full(rules: Rules | None = None, **more: Any) -> World:
    """Four cards of queue 1, one job each; queue 2 asks for one."""
    world = World(make.nodes(1, 4), pool(4, queue(1), queue(2)), rules)
    for key in range(1, 5):
        world.submit(key, 1, make.job(ONE), **more)
    world.settle()
    world.submit(9, 2, make.job(ONE))
    return world


def victims(found: Plan | NoPlan) -> list[int]:
    assert isinstance(found, Plan), found
    return [victim.job_key for victim in found.victims]


def test_the_least_work_lost_goes() -> None:
    world = full()
    world.now_s = 10_000
    for key, saved, restart in [(1, 9_000, 60), (2, 9_900, 60), (3, 9_990, 300), (4, None, 0)]:
        world.roster.add(replace(world.roster.jobs[key], checkpoint_s=saved, restart_s=restart))
    found = world.plan(9)
    assert victims(found) == [4]  # the queue's entitlement covers the three that started before
    queue_of_its_own = World(make.nodes(1, 4), pool(4, queue(1, weight=0), queue(2)))
    queue_of_its_own.fleet, queue_of_its_own.roster, queue_of_its_own.books = world.fleet, world.roster, world.books
    queue_of_its_own.work, queue_of_its_own.waiting, queue_of_its_own.now_s = world.work, world.waiting, 10_000
    queue_of_its_own.model_of = world.model_of
    found = queue_of_its_own.plan(9)
    assert victims(found) == [2]
    assert isinstance(found, Plan)
    assert found.cost == 10_000 * (100 + 60)


def test_a_minimum_of_run_time_is_waited_for() -> None:
    world = full(preempt_min_runtime_s=600)
    refused = world.plan(9)
    assert isinstance(refused, NoPlan)
    assert refused.reason == "no_victims"
    world.now_s += 600
    assert victims(world.plan(9)) == [4]


def test_whoever_was_evicted_is_left_alone_for_a_while() -> None:
    world = full(Rules(cooldown_s=300), evicted_s=1_000)
    assert isinstance(world.plan(9), NoPlan)
    world.now_s = 1_300
    assert victims(world.plan(9)) == [4]


def test_nobody_goes_out_of_turn_twice() -> None:
    """The one job in turn stands where it does not help; the other has paid already."""
    nodes = [make.node(1, make.card(101, "A")), make.node(2, make.card(201, "B"))]
    world = World(nodes, pool(2, queue(1), queue(2, 1)))
    world.submit(1, 1, make.job(ReplicaRequest(1, models=frozenset({"A"}))))
    world.submit(2, 1, make.job(ReplicaRequest(1, models=frozenset({"B"}))))
    world.settle()
    world.submit(9, 2, make.job(ReplicaRequest(1, models=frozenset({"A"}))))
    found = world.plan(9)
    assert victims(found) == [1]
    assert isinstance(found, Plan)
    assert found.victims[0].out_of_turn
    world.roster.add(replace(world.roster.jobs[1], out_of_turn=True))
    assert isinstance(world.plan(9), NoPlan)


def test_replicas_beyond_the_minimum_go_first_and_a_minimum_goes_whole() -> None:
    world = World(make.nodes(1, 6), pool(6, queue(1, weight=0), queue(2, 6)))
    world.submit(1, 1, make.job(ONE, 4, 2))
    world.submit(2, 1, make.job(ONE, 2))
    world.settle()
    for need, lost in [(1, {1: 1}), (2, {1: 2}), (3, {1: 1, 2: 2}), (6, {1: 4, 2: 2})]:
        world.submit(10 + need, 2, make.job(ONE, need))
        found = world.plan(10 + need)
        assert isinstance(found, Plan)
        sizes = {victim.job_key: len(victim.replicas) for victim in found.victims}
        assert sum(sizes.values()) == sum(lost.values())
        assert sizes == lost or need == 3
        assert all(
            victim.whole == (sizes[victim.job_key] == (4 if victim.job_key == 1 else 2)) for victim in found.victims
        )
        world.waiting.remove(10 + need)
        del world.work[10 + need]


def test_the_minimums_of_roles_are_kept() -> None:
    roles = (RoleRequest("head", ONE, 1, 1), RoleRequest("worker", ONE, 4, 2))
    world = World(make.nodes(1, 5), pool(5, queue(1)))
    world.submit(1, 1, JobRequest(1, "t1", "g1", roles, 4))
    world.settle()
    core, *surplus = units_of(world.roster.jobs[1])
    assert [(unit.replicas[0].role, unit.replicas[0].rank) for unit in surplus] == [("worker", 3)]
    assert len(core.replicas) == 4


def test_what_cannot_be_preempted_stays() -> None:
    world = full(preemptible=False)
    refused = world.plan(9)
    assert isinstance(refused, NoPlan)
    assert refused.reason == "no_victims"


def test_the_same_content_in_any_order_gives_the_same_plan() -> None:
    plans = []
    for order in ([1, 2, 3, 4], [4, 2, 1, 3]):
        world = full()
        jobs = [world.roster.jobs[key] for key in order]
        for key in order:
            world.roster.remove(key)
        for job in jobs:
            world.roster.add(job)
        plans.append(world.plan(9))
    assert plans[0] == plans[1]
    assert isinstance(plans[0], Plan)


def test_bad_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="cooldown_s: -1"):
        Rules(cooldown_s=-1)


def test_a_roster_that_has_lived_tells_what_a_fresh_one_tells() -> None:
    world = World(make.nodes(4, 4), pool(16, queue(1), queue(2, 8)))
    for key in range(1, 17):
        world.submit(key, 1, make.job(ONE))
    world.settle()
    world.submit(50, 2, make.job(ReplicaRequest(4), 2))
    assert isinstance(world.plan(50), Plan)  # the table of holds is made
    for key in (3, 9, 14):
        world.roster.add(replace(world.roster.jobs[key], restart_s=7_000))
    world.fleet.replace_node(make.node(9, make.card(900)))  # rows stay, the table is made anew
    world.fleet.replace_node(make.node(0, make.card(1)))  # all rows move
    lived = world.plan(50)
    world.roster = Roster(reversed(list(world.roster.jobs.values())))
    assert world.plan(50) == lived
    assert isinstance(lived, Plan)
    assert len(lived.victims) == 8


def test_work_whose_node_has_gone_frees_nothing_but_its_queue() -> None:
    """A limit can still be met by it; room on cards cannot."""
    world = World(make.nodes(2, 2), pool(4, queue(1, limit=2), queue(2)))
    for key in (1, 2):
        world.submit(key, 1, make.job(ReplicaRequest(1)), 1)
    world.settle()
    node = world.roster.jobs[1].replicas[0].holds[0].node_key
    world.fleet.remove_node(node)
    other = 3 - node
    world.submit(9, 1, make.job(ONE), 9)
    found = world.plan(9)
    assert isinstance(found, Plan)
    assert len(found.victims) == 1
    assert {replica.node_key for replica in found.placed.replicas} == {other}
