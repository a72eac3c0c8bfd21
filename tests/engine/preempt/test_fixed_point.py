"""Under a fixed load, decisions come to rest (I8), and nothing is evicted in vain on the way (I9)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.preempt.units import unprotected
from tests.engine.preempt.random_worlds import start_some, world_of
from tests.engine.preempt.world import World
from tests.reference.examples import examples


def potential(world: World) -> list[int]:
    """Protected pieces by class from the highest down, then unprotected ones likewise. By the
    argument in pool/engine/preempt/plan.py every step makes it lexicographically larger, but for
    those in which a job goes out of turn for the first time."""
    shares = world.shares()
    counts: dict[bool, Counter[Any]] = {True: Counter(), False: Counter()}
    classes = {(True, -work.priority) for work in world.work.values()} | {
        (False, -work.priority) for work in world.work.values()
    }
    for queue in world.tree.leaves:
        units = world.roster.of(queue)
        over = {unit.name for unit in unprotected(units, shares.of(queue))}
        for unit in units:
            counts[unit.name not in over][unit.surplus, -unit.job.priority] += 1
    return [counts[protected][kind] for protected in (True, False) for kind in sorted(classes)]


def run(seed: int, deep: bool) -> None:
    world, rng = world_of(seed, deep)
    start_some(world, rng)
    last = (-len(world.work), potential(world))
    for _ in range(300):
        if not world.step():
            break
        now, spared = potential(world), sum(1 for work in world.work.values() if not work.more.get("out_of_turn"))
        assert (-spared, now) > last, (seed, last, now, world.log)
        last = (-spared, now)
    else:
        raise AssertionError((seed, world.log))


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_flat(seed: int) -> None:
    run(seed, deep=False)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_deep(seed: int) -> None:
    run(seed, deep=True)
