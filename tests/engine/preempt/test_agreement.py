"""Plans agree with a reference that tries every set of running pieces."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.preempt import NoPlan, Plan
from pool.engine.preempt.units import units_of
from tests.engine.preempt.random_worlds import start_some, world_of
from tests.engine.preempt.world import World
from tests.engine.sharing import make as sharing
from tests.reference import preempt as reference
from tests.reference.examples import examples

CARD = 1_000_000


def pieces_of(world: World) -> list[dict[str, Any]]:
    """What runs, as the reference reads it."""
    found = []
    for job in world.roster.jobs.values():
        for unit in units_of(job):
            on: dict[int, int] = {}
            for replica in unit.replicas:
                for hold in replica.holds:
                    on[hold.node_key] = on.get(hold.node_key, 0) + CARD
            found.append(
                {
                    "job": job.key,
                    "queue": job.queue,
                    "priority": job.priority,
                    "started": job.started_s,
                    "surplus": unit.surplus,
                    "rank": unit.replicas[0].rank,
                    "replicas": {(r.role, r.rank) for r in unit.replicas},
                    "on": on,
                    "may_go": job.preemptible,
                    "paid": job.out_of_turn,
                }
            )
    return found


def pool_of(world: World, key: int) -> reference.Pool:
    work, shares = world.work[key], world.shares()
    role = work.job.roles[0]
    part = "entitlement" if world.rules.reclaim_to == "fair_share" else "deserved"
    entitled = {leaf: shares.shares[leaf].entitlement[0] for leaf in world.tree.leaves}
    bounds = {queue: getattr(share, part)[0] for queue, share in shares.shares.items()}
    return reference.Pool(
        {node.key: len(node.devices) * CARD for node in world.fleet.nodes},
        sharing.as_rows(world.tree),
        entitled,
        bounds,
        pieces_of(world),
        {
            "queue": work.queue,
            "priority": work.priority,
            "replicas": role.min_replicas,
            "cards": role.request.devices * CARD,
        },
    )


def compare(seed: int, deep: bool) -> None:
    world, rng = world_of(seed, deep, jobs=6)
    start_some(world, rng)
    for key in list(world.waiting):
        before = world.fleet.snapshot_id
        found, pool = world.plan(key), pool_of(world, key)
        assert world.fleet.snapshot_id == before
        right = pool.all_right()
        if isinstance(found, NoPlan):
            if found.reason == "fits":
                assert [] in right
            else:
                assert right == [], (seed, key, found, world.log)
            continue
        lost = {victim.job_key: set(victim.replicas) for victim in found.victims}
        going = [piece for piece in pool.pieces if piece["replicas"] <= lost.get(piece["job"], set())]
        assert sum(len(p["replicas"]) for p in going) == sum(len(v.replicas) for v in found.victims)
        assert going in right, (seed, key, found.victims, world.log)
        assert pool.minimal(going), (seed, key, found.victims, world.log)
        assert isinstance(found, Plan)


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_flat(seed: int) -> None:
    compare(seed, deep=False)


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_deep(seed: int) -> None:
    compare(seed, deep=True)
