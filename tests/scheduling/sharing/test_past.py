"""Time-based shares: who used much lately gets less of what is beyond the quotas; quotas are never touched."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.common.errors import InvalidInput
from pool.scheduling.models import JobState
from pool.scheduling.services import set_rules
from tests.conftest import Actors
from tests.scheduling.sharing.world import CARD, World, states

pytestmark = pytest.mark.django_db
UNITS = CARD * 100


def after_a_day_of_use(actors: Actors, **rules: Any) -> World:
    """`a` held all eight cards for a day, `b` nothing; now both ask for all."""
    world = World(cards=8)
    if rules:
        set_rules(actors.operator, rules)
        world.scheduler.react([], [], queues=True)
    jobs = world.submit(actors.a, 8)
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(days=1)
    for job in jobs:
        world.finish(job)
    for tenant in (actors.a, actors.b):
        world.submit(tenant, 8, preemptible=False)
    world.scheduler.sweep()
    return world


def test_off_the_past_does_not_count(actors: Actors) -> None:
    world = after_a_day_of_use(actors)
    assert world.scheduler.sharing.past.used == {}
    assert (world.cards(actors.a), world.cards(actors.b)) == (4, 4)


def test_who_used_it_all_comes_after_who_used_nothing(actors: Actors) -> None:
    world = after_a_day_of_use(actors, history_strength=1)
    past = world.scheduler.sharing.past.used
    assert past == {actors.a.queues.get().pk: pytest.approx(8 * 86_400 * UNITS)}
    # a first job each: nobody is weighed before it holds something
    assert (world.cards(actors.a), world.cards(actors.b)) == (1, 7)


def test_a_quota_holds_whatever_was_used(actors: Actors) -> None:
    actors.a.queues.update(quota_share_bp=4 * CARD)
    world = after_a_day_of_use(actors, history_strength=1)
    assert (world.cards(actors.a), world.cards(actors.b)) == (5, 3)


def test_what_is_older_than_the_window_is_forgotten_and_a_half_life_makes_it_count_less(actors: Actors) -> None:
    set_rules(actors.operator, {"history_strength": 1, "history_half_life_s": 86_400})
    world = after_a_day_of_use(actors)
    world.now += timedelta(days=2)
    world.new_scheduler()
    used = world.scheduler.sharing.past.used
    day = 86_400 / 0.6931471805599453  # the integral of a day's half-lives
    day_before = 8 * UNITS * day * (0.25 - 0.125)
    assert used[actors.a.queues.get().pk] - world.cards(actors.a) * UNITS * day * 0.75 == pytest.approx(
        day_before, rel=1e-3
    )
    set_rules(actors.operator, {"history_window_s": 3_600, "history_half_life_s": None})
    world.scheduler.react([], [], queues=True)
    world.scheduler.sweep()
    held = {tenant.queues.get().pk: world.cards(tenant) * UNITS * 3_600 for tenant in (actors.a, actors.b)}
    assert world.scheduler.sharing.past.used == pytest.approx(held)


def test_weights_move_only_every_few_minutes(actors: Actors) -> None:
    """Under a fixed load shares rest between two readings: no eviction follows from the clock alone (I8)."""
    world = after_a_day_of_use(actors, history_strength=1)
    before = dict(world.scheduler.sharing.past.used)
    world.now += timedelta(minutes=4)
    world.scheduler.sweep()
    assert world.scheduler.sharing.past.used == before
    world.now += timedelta(minutes=2)
    world.scheduler.sweep()
    assert world.scheduler.sharing.past.used != before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"history_half_life_s": 0}, "history_half_life_s"),
        ({"history_window_s": 0}, "history_window_s"),
        ({"history_strength": -1}, "history_strength"),
        ({"history_strength": True}, "history_strength"),
    ],
)
def test_t20_a_half_life_of_nothing_is_refused_in_words(actors: Actors, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        set_rules(actors.operator, changes)
    (error,) = caught.value.errors
    assert error.field == field
    if field == "history_half_life_s":
        assert "leave it empty for no decay" in error.message


def test_the_least_run_time_spares_a_job_until_then(actors: Actors) -> None:
    """preempt_min_runtime through the shell: not a second earlier, and not later."""
    world = World(cards=1)
    world.submit(actors.a, preempt_min_runtime=1_200)
    world.scheduler.sweep()
    world.run()
    actors.b.queues.update(quota_share_bp=CARD)
    (asked,) = world.submit(actors.b)
    world.now += timedelta(seconds=1_190)
    assert world.settle() == 0
    assert states(asked) == [JobState.QUEUED]
    world.now += timedelta(seconds=40)  # a refusal is looked at again within half a minute
    world.settle()
    assert states(asked) == [JobState.RUNNING]
