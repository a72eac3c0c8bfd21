"""T34: a large gang that starves behind small jobs gets a reserved start, and only what ends before it is backfilled;
a window in advance has a lead time and recurs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pool.scheduling.models import Job, JobState, Window
from pool.scheduling.services import Wanted, reserve, set_rules
from tests.conftest import Actors
from tests.scheduling.sharing.world import World, states

pytestmark = pytest.mark.django_db
HOUR = 3_600


def test_t34(actors: Actors) -> None:
    """Eight cards, jobs of an hour each, one gang of all eight: it starts when those have ended, although small ones
    came all the time, with a higher priority. Of those, what ends before its start runs on cards that become free
    earlier, and nothing else does."""
    set_rules(actors.operator, {"starve_after_s": 600})
    world = World(cards=8, nodes=2)
    first = world.submit(actors.a, 8, max_duration=HOUR, preemptible=False)
    world.scheduler.sweep()
    world.run()
    (gang,) = world.submit(actors.b, replicas=2, gpus=4, preemptible=False)
    late: list[Job] = []
    backfilled: list[Job] = []
    for minute in range(15, 75, 15):
        world.now += timedelta(minutes=15)
        if minute == 30:
            world.finish(first[0])  # a card is free half an hour before the start
        if minute < 60:
            late += world.submit(actors.a, max_duration=HOUR, priority=1000, preemptible=False)
            backfilled += world.submit(actors.a, max_duration=600, priority=1000, preemptible=False)
        world.scheduler.sweep()
        world.run()
        world.stop()
        for job in backfilled:
            world.finish(job)
    world.now += timedelta(seconds=30)
    world.scheduler.sweep()
    assert states(gang, *late) == [JobState.STARTING, *[JobState.QUEUED] * len(late)]
    assert states(*backfilled).count(JobState.SUCCEEDED) >= 2
    world.scheduler.sweep()
    assert Window.objects.get(job=gang).state == "started"


def test_t34_an_advance_window_with_lead_time_recurs(actors: Actors) -> None:
    """Every day: what would not end before it is kept off from its lead time on, and not before."""
    world = World(cards=8)
    start = world.now + timedelta(hours=3)
    asked = Wanted("course", start, start + timedelta(hours=1), every="day", lead_s=HOUR, lends=False)
    reserve(actors.operator, actors.a, asked)
    for day in range(2):
        world.now = start + timedelta(days=day) - timedelta(hours=1, minutes=5)
        (early,) = world.submit(actors.b, preemptible=False)
        world.scheduler.sweep()
        world.run()
        assert states(early) == [JobState.RUNNING]
        world.finish(early)
        world.now += timedelta(minutes=6)
        world.scheduler.sweep()
        (kept_off,) = world.submit(actors.b, preemptible=False)
        (own,) = world.submit(actors.a, gpus=8, preemptible=False, max_duration=HOUR)
        world.scheduler.sweep()
        assert states(kept_off, own) == [JobState.QUEUED, JobState.STARTING]
        world.run()
        world.finish(own)
        world.now = start + timedelta(days=day, hours=1, minutes=1)
        world.scheduler.sweep()
        assert states(kept_off) == [JobState.STARTING]
        world.run()
        world.finish(kept_off)
    assert list(Window.objects.values_list("state", flat=True)) == ["ended", "ended"]
