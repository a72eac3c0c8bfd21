"""No queue at or under its quota loses anything to another, through the database and whatever the load."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from pool.scheduling.models import Job, JobState, Preemption, Queue, Victim
from tests.scheduling.sharing.world import CARD, World

pytestmark = pytest.mark.django_db
CARDS = 8


@pytest.mark.parametrize("seed", range(4))
def test_random_loads(seed: int) -> None:
    dice = random.Random(seed)
    world = World(cards=CARDS, nodes=2)
    quotas = [dice.randint(0, 3) for _ in range(3)]
    tenants = [world.tenant(f"t{at}", quota_share_bp=quota * CARD) for at, quota in enumerate(quotas)]
    for _ in range(4):
        for _ in range(dice.randint(1, 3)):
            shape = {"gpus": dice.choice([1, 1, 2]), "replicas": dice.choice([1, 1, 2]), "priority": dice.randint(0, 2)}
            world.submit(dice.choice(tenants), preemptible=dice.random() < 0.8, **shape)
        running = Job.objects.filter(state=JobState.RUNNING).order_by("pk")
        if running and dice.random() < 0.5:
            world.finish(running[dice.randrange(len(running))])
        world.settle()
        world.now += timedelta(minutes=10)
    held = sum(world.cards(tenant) for tenant in tenants)
    assert held <= CARDS
    for victim in Victim.objects.select_related("preemption"):
        quota = Queue.objects.get(pk=victim.queue_id).quota_share_bp
        line = victim.preemption.shares[str(victim.queue_id)]
        if victim.because == "over_entitlement":
            assert line["before"] > max(quota, line["entitled"])
    # every plan let its job in (I9), and the fleet in memory is the one of the database
    assert not Preemption.objects.exclude(state="started").exists()
    assert not world.scheduler.rooms.pledges
    before = world.scheduler.mirror.fleet.snapshot_id
    world.scheduler.resync()
    assert world.scheduler.mirror.fleet.snapshot_id == before
