"""Random small pools, run for a while, for comparisons and for fixed points."""

from __future__ import annotations

from random import Random
from typing import Any

from pool.engine import ReplicaRequest
from pool.engine.preempt import Rules
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.sharing.make import pool, queue


def tree_of(rng: Random, cards: int, deep: bool) -> Any:
    """Two to five queues; ``deep``: some below others."""
    specs, leaves = [], rng.randint(2, 4)
    parents = [101, 102] if deep else []
    for parent in parents:
        specs.append(
            queue(parent, rng.choice([None, rng.randint(0, cards)]), rng.choice([None, rng.randint(2, cards + 1)]))
        )
    for key in range(1, leaves + 1):
        parent = rng.choice([0, *parents]) if deep else 0
        quota = rng.choice([None, 0, rng.randint(0, cards), rng.randint(0, cards)])
        limit = rng.choice([None, None, rng.randint(1, cards)])
        weight = rng.choice([1000, 1000, 2000, 0])
        specs.append(queue(key, quota, limit, parent=parent, weight=weight))
    used = {spec.parent for spec in specs}
    return pool(cards, *[spec for spec in specs if spec.key < 100 or spec.key in used])


def world_of(seed: int, deep: bool = False, jobs: int = 9) -> tuple[World, Random]:
    """A pool where some jobs run (started in any order, whatever is fair) and some wait."""
    rng = Random(seed)
    nodes = make.nodes(rng.randint(2, 3), rng.randint(2, 3))
    tree = tree_of(rng, sum(len(node.devices) for node in nodes), deep)
    world = World(nodes, tree, Rules(cooldown_s=0, reclaim_to=rng.choice(["fair_share", "fair_share", "quota"])))
    leaves = [key for key in tree.leaves if key < 100]
    for key in range(1, rng.randint(2, jobs) + 1):
        replicas = rng.choice([1, 1, 2, 2, 3])
        least = rng.randint(1, replicas)
        job = make.job(ReplicaRequest(rng.choice([1, 1, 1, 1, 2])), replicas, least)
        more: dict[str, Any] = {"preemptible": rng.random() < 0.9, "restart_s": rng.randint(0, 100)}
        world.submit(key, rng.choice(leaves), job, rng.choice([1, 5, 5, 9]), **more)
    return world, rng


def start_some(world: World, rng: Random) -> None:
    """Start what fits, most of some queues and little of others: nobody asks what is fair."""
    favoured = set(rng.sample(world.tree.leaves, rng.randint(0, len(world.tree.leaves))))
    mixed = rng.sample(world.waiting, len(world.waiting))
    for key in sorted(mixed, key=lambda key: (world.work[key].queue not in favoured, world.work[key].priority)):
        world.now_s += rng.randint(0, 50)
        if rng.random() < (0.9 if world.work[key].queue in favoured else 0.4):
            world._help(key, evict=False)
