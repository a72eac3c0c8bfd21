"""No queue under its quota loses to one above it: watched at every eviction on the way to rest."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.preempt import Plan
from tests.engine.preempt.random_worlds import start_some, world_of
from tests.engine.preempt.world import World
from tests.reference.examples import examples


class Watched(World):
    """A pool whose evictions are looked at before they are carried out."""

    def carry_out(self, found: Plan) -> None:
        shares, tree, work = self.shares(), self.tree, self.work[found.job_key]
        used = {key: self.books.used[key][0] for key in tree.specs}
        from_others = [victim for victim in found.victims if victim.queue != work.queue]
        for victim in from_others:
            for key in tree.path[victim.queue]:
                if key in tree.path[work.queue]:
                    break
                share = shares.shares[key]
                assert used[key] > share.entitlement[0] >= share.deserved[0], (victim, self.log)
                quota_in_force = min(share.demand[0], tree.quota[key][0], share.budget[0])
                assert used[key] > quota_in_force, (victim, self.log)
        super().carry_out(found)
        if from_others:
            assert self.books.used[work.queue][0] <= shares.of(work.queue)[0], (found, self.log)
        for key in tree.specs:
            limit = tree.specs[key].limit[0]
            assert limit is None or self.books.used[key][0] <= limit


def run(seed: int, deep: bool) -> int:
    plain, rng = world_of(seed, deep)
    world = Watched(plain.fleet.nodes, plain.tree, plain.rules)
    world.work, world.waiting = plain.work, plain.waiting
    start_some(world, rng)
    world.settle()
    return world.evictions


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.booleans())
def test_no_queue_under_its_quota_loses_to_one_above_it(seed: int, deep: bool) -> None:
    run(seed, deep)


def test_there_is_something_to_watch() -> None:
    assert sum(run(seed, deep=seed % 2 == 0) for seed in range(20)) > 5
