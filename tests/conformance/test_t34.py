"""T34: a large gang that starves behind small jobs gets a reserved start, and only what ends before it is backfilled;
a window in advance has a lead time and recurs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pool.scheduling.models import JobState, Window
from pool.scheduling.services import Wanted, reserve, set_rules
from tests.conftest import Actors
from tests.scheduling.sharing.world import World, states

pytestmark = pytest.mark.django_db
HOUR = 3_600


def test_t34(actors: Actors) -> None:
    """Sixteen cards, a stream of small jobs of an hour each, one gang of all sixteen: it starts when the first of the
    stream have ended, although small ones came all the time, earlier and with a higher priority."""
    set_rules(actors.operator, {"starve_after_s": 600})
    world = World(cards=16, nodes=2)
    stream = world.submit(actors.a, 16, max_duration=HOUR, preemptible=False)
    world.scheduler.sweep()
    world.run()
    (gang,) = world.submit(actors.b, replicas=2, gpus=8, preemptible=False)
    started = backfilled = late = 0
    for minute in range(0, 75, 5):
        world.now += timedelta(minutes=5)
        if minute < 55:
            short = world.submit(actors.a, max_duration=240, priority=1000, preemptible=False)
            long = world.submit(actors.a, max_duration=HOUR, priority=1000, preemptible=False)
        if minute == 20:
            world.finish(stream[0])  # a card is free before the start: for the short ones only
        world.scheduler.sweep()
        world.run()
        backfilled += states(*short).count(JobState.RUNNING)
        late += states(*long).count(JobState.RUNNING) if minute >= 10 else 0
        started = started or (states(gang) == [JobState.RUNNING]) * minute
        for job in [*stream, *short]:
            if states(job) == [JobState.RUNNING] and (job in short or minute >= 60):
                world.finish(job)
    assert Window.objects.get(job=gang).state == "started"
    assert backfilled > 0
    assert late == 0
    assert 55 <= started <= 70


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
