"""Reserved capacity: kept from the lead time on, lent while nobody wants it, and given back when somebody does."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.common import clock
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from pool.inventory.models import Device
from pool.scheduling.models import Job, JobState, Preemption, Reservation, Victim, Window
from pool.scheduling.services import Wanted, cancel, reserve, reserve_purchase
from tests import factories
from tests.conftest import Actors
from tests.scheduling.sharing.world import World, states

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def wanted(now: datetime, after: timedelta = 2 * HOUR, **more: Any) -> Wanted:
    """A node of four cards for four hours, from two hours on; an hour of lead time."""
    return Wanted(**{"name": "launch", "starts_at": now + after, "ends_at": now + after + 4 * HOUR, "cards": 4} | more)


def world_of(actors: Actors, nodes: int = 1, **more: Any) -> tuple[World, Reservation]:
    """`a` has reserved a node of four cards, for four hours from two hours on."""
    world = World(cards=4 * nodes, nodes=nodes)
    return world, reserve(actors.operator, actors.a, wanted(world.now, **more))


def later(world: World, by: timedelta) -> None:
    world.now += by
    world.scheduler.sweep()


def test_its_cards_are_kept_from_the_lead_time_on(actors: Actors) -> None:
    world, row = world_of(actors)
    world.scheduler.sweep()
    assert not Window.objects.exists()
    before = world.submit(actors.b, 1, preemptible=False)  # nothing is kept yet
    world.scheduler.sweep()
    assert states(*before) == [JobState.STARTING]
    world.finish(before[0])
    later(world, HOUR + timedelta(seconds=1))
    window = Window.objects.get()
    assert (window.reservation, window.cards, window.short, window.starts_at) == (row, 4, 0, row.starts_at)
    endless, long, short, lent = (
        world.submit(actors.b, preemptible=bool(spec.pop("lent", False)), **spec)[0]
        for spec in ({}, {"max_duration": 3600}, {"max_duration": 3590}, {"lent": True})
    )
    world.scheduler.sweep()
    assert states(endless, long, short, lent) == ["queued", "queued", "starting", "starting"]


def test_its_own_come_first_and_use_it_first(actors: Actors) -> None:
    world, _row = world_of(actors, nodes=2)
    later(world, 2 * HOUR)
    window = Window.objects.get()
    kept = {card["device_key"] for part in window.placement["replicas"] for card in part["devices"]}
    (job,) = world.submit(actors.a, gpus=2, preemptible=False)
    world.scheduler.sweep()
    assert set(job.allocations.values_list("device", flat=True)) <= kept
    others = world.submit(actors.b, 6, preemptible=False)
    world.scheduler.sweep()
    assert states(*others).count(JobState.STARTING) == 4  # the other node; two reserved cards stay empty for `a`


def test_what_is_lent_is_given_back_in_time_and_only_as_much_as_is_wanted(actors: Actors) -> None:
    world, row = world_of(actors)
    later(world, 2 * HOUR)
    lent = world.submit(actors.b, 4)
    world.scheduler.sweep()
    world.run()
    assert states(*lent) == [JobState.RUNNING] * 4
    later(world, timedelta(minutes=1))
    assert not Preemption.objects.exists()  # nobody asks
    (asked,) = world.submit(actors.a, gpus=2, preemptible=False)
    world.scheduler.sweep()
    plan = Preemption.objects.get()
    assert (plan.job, plan.why, Victim.objects.count()) == (asked, "reserved", 2)
    assert set(Victim.objects.values_list("because", flat=True)) == {"lent"}
    third = world.submit(actors.b, priority=1000)
    world.stop()  # within the grace of ten seconds, well within the two minutes of the reservation
    world.scheduler.sweep()
    assert states(asked, *third) == [JobState.STARTING, JobState.QUEUED]
    world.run()
    world.scheduler.sweep()
    assert Preemption.objects.get().state == "started"
    assert row.give_back_s >= 30
    assert not world.scheduler.mirror._coming


def test_however_entitled_others_are_and_whatever_was_preempted_before(actors: Actors) -> None:
    """Shares do not count on reserved cards, nor do cool-downs: who came in as a guest goes."""
    actors.b.queues.update(quota_share_bp=40_000)
    world, _row = world_of(actors)
    later(world, 2 * HOUR)
    world.submit(actors.b, gpus=4, priority=1000)
    world.scheduler.sweep()
    world.run()
    (asked,) = world.submit(actors.a, gpus=4, preemptible=False, priority=-1000)
    world.settle()
    assert states(asked) == [JobState.RUNNING]
    assert Victim.objects.count() == 1


def test_what_could_not_be_given_back_in_time_is_not_let_in(actors: Actors) -> None:
    world, _row = world_of(actors, give_back_s=60)
    later(world, 2 * HOUR)
    spared, guest = (world.submit(actors.b, preempt_min_runtime=s)[0] for s in (51, 50))  # and ten of grace
    fixed = world.submit(actors.b, preemptible=False, max_duration=60)[0]
    slow, saves = (world.submit(actors.b, checkpoint={"signal": "USR1", "grace_s": s})[0] for s in (51, 50))
    world.scheduler.sweep()
    assert states(spared, fixed, slow) == [JobState.QUEUED] * 3
    assert states(guest, saves) == [JobState.STARTING] * 2


def test_without_lending_nobody_else_runs_there(actors: Actors) -> None:
    world, _row = world_of(actors, lends=False)
    later(world, 2 * HOUR)
    (guest,) = world.submit(actors.b)
    (own,) = world.submit(actors.a)
    world.scheduler.sweep()
    assert states(guest, own) == [JobState.QUEUED, JobState.STARTING]


def test_one_queue_of_the_tenant(actors: Actors) -> None:
    night = factories.make_queue(actors.a, "night")
    world, _row = world_of(actors, lends=False, queue=night)
    later(world, 2 * HOUR)
    (default,) = world.submit(actors.a)
    (own,) = world.submit(actors.a, queue="night")
    world.scheduler.sweep()
    assert states(default, own) == [JobState.QUEUED, JobState.STARTING]


def test_it_ends_and_comes_again(actors: Actors) -> None:
    world, row = world_of(actors, every="day", lends=False)
    later(world, 2 * HOUR)
    (waits,) = world.submit(actors.b)
    world.scheduler.sweep()
    assert states(waits) == [JobState.QUEUED]
    later(world, 4 * HOUR)
    assert states(waits) == [JobState.STARTING]
    assert Window.objects.get().state == "ended"
    world.run()
    world.finish(waits)
    later(world, 20 * HOUR)
    second = Window.objects.latest("pk")
    assert (second.state, second.starts_at - row.starts_at) == ("open", timedelta(days=1))


def test_work_that_does_not_end_before_it_takes_other_cards_or_makes_it_short(actors: Actors) -> None:
    """Nothing that may not be preempted is stopped for a reservation: it tells that it is short, and how much."""
    world, _row = world_of(actors, replicas=2, cards=2)
    endless = world.submit(actors.b, 1, preemptible=False)
    world.scheduler.sweep()
    world.run()
    later(world, HOUR + timedelta(seconds=1))
    assert not Window.objects.exists()  # it may still end until then
    later(world, HOUR)
    window = Window.objects.get()
    assert (window.cards, window.short) == (2, 2)
    assert states(*endless) == [JobState.RUNNING]


def test_a_broken_card_is_made_up_for(actors: Actors) -> None:
    world, _row = world_of(actors, nodes=2)
    later(world, 2 * HOUR)
    window = Window.objects.get()
    node = window.placement["replicas"][0]["node_key"]
    Device.objects.filter(node=node, index=0).update(state="faulty")
    later(world, timedelta(seconds=20))
    window.refresh_from_db()
    assert window.placement["replicas"][0]["node_key"] != node
    assert window.state == "open"


def test_a_scheduler_that_takes_over_keeps_it_and_gives_back(actors: Actors) -> None:
    world, _row = world_of(actors)
    later(world, 2 * HOUR)
    world.submit(actors.b, 4)
    world.scheduler.sweep()
    world.run()
    world.new_scheduler()
    (asked,) = world.submit(actors.a, gpus=4, preemptible=False)
    world.scheduler.sweep()
    world.new_scheduler()
    world.stop()
    world.scheduler.sweep()
    assert states(asked) == [JobState.STARTING]
    assert Window.objects.count() == 1


def test_cancelled_its_cards_are_free_at_once(actors: Actors) -> None:
    world, row = world_of(actors, lends=False)
    later(world, 2 * HOUR)
    assert cancel(actors.owner_a, row)
    assert not cancel(actors.owner_a, row)
    (job,) = world.submit(actors.b, preemptible=False)
    world.scheduler.react([], [], queues=True)
    world.scheduler.sweep()
    world.scheduler.sweep()
    assert states(job) == [JobState.STARTING]
    assert AuditEntry.objects.filter(action="reservation.cancel").count() == 1


# -- who may, and what fits


def test_two_that_overlap_must_fit_on_the_hardware(actors: Actors) -> None:
    world, _row = world_of(actors, every="week")
    with pytest.raises(Conflict, match="reserved already"):
        reserve(actors.operator, actors.b, wanted(world.now, 2 * HOUR + timedelta(days=14), cards=1))
    assert Reservation.objects.count() == 1
    reserve(actors.operator, actors.b, wanted(world.now, 8 * HOUR, cards=1))


def test_a_purchase_is_made_once_and_not_cancelled_by_its_owner(actors: Actors) -> None:
    World(cards=4)
    asked = wanted(clock.now())
    rows = [reserve_purchase(system("billing"), actors.a, asked, "pur_1") for _ in range(2)]
    assert rows[0] == rows[1]
    with pytest.raises(NotAllowed):
        cancel(actors.owner_a, rows[0])
    with pytest.raises(InvalidInput, match="reference"):
        reserve_purchase(system("billing"), actors.a, asked, "")


@pytest.mark.parametrize("who", ["owner_a", "member_a", "finance", "auditor"])
def test_nobody_but_operators(actors: Actors, who: str) -> None:
    with pytest.raises(NotAllowed):
        reserve(getattr(actors, who), actors.a, wanted(clock.now()))


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": " "}, "name"),
        ({"replicas": 0}, "replicas"),
        ({"cards": True}, "cards"),
        ({"models": ["nonesuch"]}, "models"),
        ({"every": "year"}, "every"),
        ({"level": "galaxy"}, "level"),
        ({"give_back_s": 5}, "give_back_s"),
        ({"ends_at": clock.now()}, "ends_at"),
        ({"until": clock.now() - timedelta(days=9), "every": "day"}, "until"),
    ],
)
def test_wrong_ones_name_the_field(actors: Actors, more: dict[str, Any], field: str) -> None:
    World(cards=4)
    with pytest.raises(InvalidInput) as caught:
        reserve(actors.operator, actors.a, wanted(clock.now(), **more))
    assert [error.field for error in caught.value.errors] == [field]


def test_another_tenants_queue(actors: Actors) -> None:
    with pytest.raises(InvalidInput, match="queue"):
        reserve(actors.operator, actors.a, wanted(clock.now(), queue=actors.b.queues.get()))


def test_what_runs_on_is_billed_once_whoever_has_the_cards(actors: Actors) -> None:
    """Lent or own: one interval a held part, never two on a card at once."""
    world, _row = world_of(actors)
    later(world, 2 * HOUR)
    world.submit(actors.b, 4)
    world.scheduler.sweep()
    world.run()
    world.submit(actors.a, gpus=4, preemptible=False)
    world.settle()
    for card in Device.objects.all():
        spans = list(card.intervals.order_by("started_at").values_list("started_at", "ended_at"))
        assert all(end is not None and end <= after for (_, end), (after, _) in pairwise(spans))
    assert Job.objects.filter(tenant=actors.a, state=JobState.RUNNING).count() == 1
