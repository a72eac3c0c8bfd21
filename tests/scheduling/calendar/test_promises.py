"""Random loads: a start that was promised is kept or earlier, and reserved cards are had when they are wanted."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from pool.scheduling.models import Job, JobState, Window
from pool.scheduling.services import Wanted, reserve, set_rules
from tests.conftest import Actors
from tests.scheduling.sharing.world import World, states

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("seed", range(2))
def test_promises(actors: Actors, seed: int) -> None:
    dice = random.Random(seed)
    set_rules(actors.operator, {"starve_after_s": 300, "starve_most": 1})
    world = World(cards=8, nodes=2)
    start = world.now + 60 * MINUTE
    # the lead time is longer than the longest limit: then the cards are certain, whatever came before
    asked = Wanted("r", start, start + 60 * MINUTE, cards=4, lead_s=3_600)
    reserve(actors.operator, actors.b, asked)
    promised: dict[int, datetime] = {}
    for step in range(9):
        world.now += 10 * MINUTE
        for _ in range(dice.randint(1, 3)):
            minutes = dice.choice([5, 20, 45])
            spec = {"gpus": dice.choice([1, 1, 2]), "preemptible": dice.random() < 0.5, "priority": dice.randint(0, 9)}
            world.submit(actors.a, max_duration=minutes * 60, **spec)
        if step == 0:
            world.submit(actors.a, replicas=2, gpus=4, max_duration=600, preemptible=False)
        if world.now == start:
            world.scheduler.sweep()
            (own,) = world.submit(actors.b, gpus=4, preemptible=False, max_duration=600)
        for _ in range(3):
            world.scheduler.sweep()
            world.run()
            world.stop()
        for window in Window.objects.filter(job__isnull=False, sure=True):
            promised.setdefault(window.pk, window.starts_at)
        if world.now == start:
            assert states(own) == [JobState.RUNNING]
    for window in Window.objects.filter(pk__in=promised):
        assert window.dropped in ("", "gone")
        if window.state == Window.State.STARTED:
            job = Job.objects.get(pk=window.job_id)
            latest = promised[window.pk] + 10 * MINUTE  # the next look of this test
            assert job.attempts.filter(placed_at__lte=latest).exists()
