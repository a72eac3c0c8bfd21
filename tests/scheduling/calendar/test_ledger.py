"""What was decided on reserved cards is decided the same again from the ledger."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pool.engine import Fleet, ReplicaRequest, decide
from pool.engine.part import part_of
from pool.engine.types import Placed
from pool.scheduling.ledger.replay import replay
from pool.scheduling.models import Decision, Preemption
from tests.conftest import Actors
from tests.engine import make
from tests.scheduling.calendar.test_reservations import later, world_of
from tests.scheduling.sharing.world import states

HOUR = timedelta(hours=1)


@pytest.mark.django_db
def test_own_lent_before_and_given_back(actors: Actors) -> None:
    world, _row = world_of(actors, nodes=2)
    later(world, HOUR + timedelta(seconds=1))
    first = world.submit(actors.b, 4, preemptible=False, max_duration=7_200)  # in what is free to all
    before = world.submit(actors.b, max_duration=600, preemptible=False)
    world.scheduler.sweep()
    world.run()
    world.finish(before[0])
    later(world, HOUR)
    own = world.submit(actors.a, gpus=2, preemptible=False)
    lent = world.submit(actors.b, 2)
    world.scheduler.sweep()
    world.run()
    wanted = world.submit(actors.a, gpus=2, preemptible=False)
    world.settle()
    jobs = [*first, *before, *own, *lent, *wanted]
    assert states(*own, *wanted) == ["running", "running"]
    placed = Decision.objects.filter(job__in=jobs, placed=True)
    assert placed.filter(job__in=own).get().inputs["within"]
    assert placed.count() == len(jobs)
    for decision in placed:
        assert replay(decision.public_id).same
    assert replay(Preemption.objects.get().public_id).same


@pytest.mark.plain
def test_a_part_of_a_fleet_is_in_the_state_that_it_is_in() -> None:
    fleet = Fleet.build(make.nodes(3, 4), [make.whole(2, 200)])
    part = part_of(fleet, {200, 201, 202, 9_999})
    two, three = make.job(ReplicaRequest(2), key=1), make.job(ReplicaRequest(3), key=2)
    found = decide(part, two)
    assert isinstance(found, Placed)
    assert [card.device_key for card in found.replicas[0].devices] == [201, 202]
    assert not isinstance(decide(part, three), Placed)
    before = fleet.snapshot_id
    part.apply(found, "t", "g")
    assert fleet.snapshot_id == before
