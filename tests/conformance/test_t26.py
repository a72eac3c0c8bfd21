"""T26: a gang that must stay inside one rack preempts inside a rack, not all over the pool."""

from __future__ import annotations

from dataclasses import replace

from pool.engine import JobRequest, ReplicaRequest, RoleRequest
from pool.engine.preempt import Plan
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue


def racks(cheap: str) -> World:
    """Two racks of two nodes of four cards, full of lower priorities; those in ``cheap`` lose less."""
    nodes = [replace(node, rack=f"r{(node.key - 1) // 2}") for node in make.nodes(4, 4)]
    world = World(nodes, pool(16, queue(1, 16)))
    for key in range(1, 17):
        world.submit(key, 1, make.job(ReplicaRequest(1)), 1)
    world.settle()
    for job in list(world.roster.jobs.values()):
        rack = nodes[job.replicas[0].holds[0].node_key - 1].rack
        world.roster.add(replace(job, restart_s=10 if rack == cheap else 1_000))
    return world


def rack_of(world: World, node_key: int) -> str:
    return world.fleet.nodes[world.fleet.row_of[node_key]].rack


def test_t26() -> None:
    for cheap in ("r0", "r1"):
        world = racks(cheap)
        gang = replace(make.job(ReplicaRequest(2), 3), required_topology_level="rack")
        world.submit(50, 1, gang, 9)
        found = world.plan(50)
        assert isinstance(found, Plan)
        assert {rack_of(world, replica.node_key) for replica in found.placed.replicas} == {cheap}
        lost = [world.roster.jobs[victim.job_key].replicas[0].holds[0].node_key for victim in found.victims]
        assert {rack_of(world, node) for node in lost} == {cheap}
        assert len(found.victims) == 6


def test_a_gang_of_unlike_roles_too() -> None:
    world = racks("r1")
    roles = (RoleRequest("big", ReplicaRequest(4), 1, 1), RoleRequest("small", ReplicaRequest(1), 2, 2))
    world.submit(50, 1, JobRequest(50, "t1", "g1", roles, 3, required_topology_level="rack"), 9)
    found = world.plan(50)
    assert isinstance(found, Plan)
    assert len({rack_of(world, replica.node_key) for replica in found.placed.replicas}) == 1
    assert len(found.victims) == 6


def test_a_gang_too_large_for_a_rack_evicts_nobody() -> None:
    world = racks("r0")
    gang = replace(make.job(ReplicaRequest(1), 9), required_topology_level="rack")
    world.submit(50, 1, gang, 9)
    assert not isinstance(world.plan(50), Plan)
