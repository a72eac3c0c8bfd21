"""T36: whoever waits is told its place, what is in the way, the smallest change, and a range for its start."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse

from pool.scheduling.models import Attempt, Job, Queue
from pool.scheduling.outlook import published
from pool.scheduling.outlook.published import Outlook
from tests import factories
from tests.api.conftest import Api
from tests.conftest import Actors
from tests.scheduling.sharing.world import World
from tests.scheduling.test_queues import sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live")]
HOUR = 3_600.0


def look(world: World) -> None:
    """Until everybody who waits was looked at; what was told before is void."""
    scheduler = world.new_scheduler()
    for _ in range(200):
        scheduler.sweep()
        if scheduler.outlook.looked:
            return
    raise AssertionError("the look ahead does not come to its end")


def of(job: Job) -> Outlook:
    found = published.read(job.pk)
    assert found is not None
    return found


def seen(job: Job, hours: list[float]) -> None:
    """Attempts of work like this that took so long, in the past."""
    for number, span in enumerate(hours):
        past = factories.make_job(job.tenant, queue=job.queue, state="succeeded", total_share_bp=job.total_share_bp)
        placed = job.created_at - timedelta(hours=100 + number)
        Attempt.objects.create(
            job=past, number=1, epoch=1, placed_at=placed, ended_at=placed + timedelta(hours=span), outcome="succeeded"
        )


def test_the_start_is_when_what_runs_has_its_latest_end(actors: Actors) -> None:
    """Known ends: the range is that moment. The second waits for what ends next."""
    world = World(cards=2)
    world.submit(actors.b, max_duration=7_200, preemptible=False)
    world.submit(actors.b, max_duration=10_800, preemptible=False)
    world.settle()
    Job.objects.filter(tenant=actors.b).update(deadline_at=None)
    for job, hours in zip(Job.objects.order_by("pk"), (2, 3), strict=True):
        Job.objects.filter(pk=job.pk).update(deadline_at=world.now + timedelta(hours=hours))
    first, second, third = world.submit(actors.a, 3, max_duration=4 * 3_600)
    look(world)
    told = [of(job) for job in (first, second, third)]
    now = world.now.timestamp()
    assert [(each.early, each.middle, each.late) for each in told[:2]] == [
        (now + 2 * HOUR,) * 3,
        (now + 3 * HOUR,) * 3,
    ]
    assert told[2].early == now + 6 * HOUR  # after the first has had its most
    assert [(each.place, each.line, each.overall) for each in told] == [(1, 3, 1), (2, 3, 2), (3, 3, 3)]
    assert {each.blocker for each in told} == {"capacity"}
    assert told[0].bounded == 2


def test_without_ends_the_history_gives_a_range(actors: Actors) -> None:
    world = World(cards=1)
    (runs,) = world.submit(actors.b)
    seen(runs, [1.0] * 10 + [2.0] * 10 + [4.0] * 10)
    world.settle()
    (waits,) = world.submit(actors.a)
    look(world)
    told, now = of(waits), world.now.timestamp()
    assert told.basis == "history"
    assert (told.early, told.late) == (now + HOUR, now + 4 * HOUR)
    assert told.middle in (now + HOUR, now + 2 * HOUR, now + 4 * HOUR)
    # it has run for three hours: of its like, only those of four went on so long
    world.now += timedelta(hours=3)
    look(world)
    told = of(waits)
    assert told.early == told.late == now + 4 * HOUR


def test_without_any_basis_there_is_no_estimate_and_it_says_why(actors: Actors) -> None:
    world = World(cards=1)
    world.submit(actors.b)
    world.settle()
    (waits,) = world.submit(actors.a)
    look(world)
    assert (of(waits).basis, of(waits).early, of(waits).unseen) == ("unknown", None, 1)
    told = page(actors, "member_a", waits)
    assert "No estimate: what it waits for has no maximum duration" in told
    assert "没有估计" in page(actors, "member_a", waits, "zh-hans")


def test_what_is_in_the_way_is_named(actors: Actors) -> None:
    world = World(cards=4)
    Queue.objects.filter(tenant=actors.a).update(limit_share_bp=10_000)
    world.submit(actors.a, max_duration=600)
    world.settle()
    Job.objects.update(deadline_at=world.now + timedelta(seconds=600))
    (limited,) = world.submit(actors.a)
    held = Queue.objects.create(tenant=actors.a, name="later", state="open")
    (waits,) = world.submit(actors.a, queue="later")
    Queue.objects.filter(pk=held.pk).update(state="held")
    look(world)
    assert (of(limited).blocker, of(limited).early) == ("limit", world.now.timestamp() + 600)
    assert (of(waits).blocker, of(waits).basis) == ("queue_held", "held")
    assert "Its queue is held" in page(actors, "member_a", waits)
    assert "The limit of queue default holds it back" in page(actors, "member_a", limited)


def test_why_nobody_is_stopped_for_it(actors: Actors) -> None:
    """What the engine found is told, and not only in the memory of the scheduler."""
    world = World(cards=2)
    Queue.objects.filter(tenant=actors.b).update(quota_share_bp=20_000)
    world.submit(actors.b, 2)
    world.settle()
    (waits,) = world.submit(actors.a)
    look(world)
    assert of(waits).no_room == "not_entitled"
    assert "its queue would hold more than it is entitled to" in page(actors, "member_a", waits)
    Queue.objects.filter(tenant=actors.a).update(quota_share_bp=20_000)
    Job.objects.filter(tenant=actors.b).update(preemptible=False)
    look(world)
    assert of(waits).no_room == "no_victims"
    assert "nothing that runs may be stopped" in page(actors, "operator", waits)
    # whether others run anything that could be stopped is theirs to know
    told = page(actors, "member_a", waits)
    assert "nothing that runs may be stopped" not in told
    assert "No room can be made for it by stopping others" in told


def test_whoever_room_is_made_for_is_told_so(actors: Actors) -> None:
    world = World(cards=1)
    world.submit(actors.b)
    world.settle()
    world.now += timedelta(minutes=10)
    Queue.objects.filter(tenant=actors.a).update(quota_share_bp=10_000)
    (waits,) = world.submit(actors.a)
    look(world)
    assert (of(waits).blocker, of(waits).basis) == ("room_made", "room_made")
    assert "it starts as soon as what was stopped has ended" in page(actors, "member_a", waits)


def test_queues_that_compete_take_turns_in_the_line(actors: Actors) -> None:
    """By the rule that will be used: not all of a's three before b's."""
    world = World(cards=2)
    third = factories.make_tenant("third")
    world.submit(third, 2, max_duration=60)
    world.settle()
    mine, theirs = world.submit(actors.a, 3), world.submit(actors.b, 2)
    look(world)
    assert [of(job).rule for job in mine] == ["fair"] * 3
    assert sorted(of(job).overall for job in (*mine[:2], *theirs)) == [1, 2, 3, 4]
    assert of(mine[2]).overall == 5


def test_the_smallest_change_and_the_range_in_the_api_and_of_others_nothing(
    api: Callable[..., Api], actors: Actors
) -> None:
    world = World(cards=2)
    world.submit(actors.b, max_duration=5_400)
    world.settle()
    Job.objects.update(deadline_at=world.now + timedelta(seconds=5_400))
    (first,) = world.submit(actors.b, gpus=2)
    (waits,) = world.submit(actors.a, gpus=2)
    look(world)
    mine = api("member_a").get(f"jobs/{waits.public_id}").json()
    assert mine["decision"]["reasons"]["changes"][0]["kind"] == "devices"
    outlook: dict[str, Any] = mine["outlook"]
    assert (outlook["place"], outlook["line"], outlook["overall"], outlook["all_waiting"]) == (1, 1, None, None)
    every = api("operator").get(f"jobs/{waits.public_id}").json()["outlook"]
    assert (every["overall"], every["all_waiting"]) == (1, 2)
    early, late = (datetime.fromisoformat(outlook[name]) for name in ("early", "late"))
    assert early <= world.now + timedelta(seconds=5_400) <= late
    assert late - early <= timedelta(minutes=30)  # rounded outwards, by no more than a step
    assert api("member_a").get(f"jobs/{first.public_id}").status_code == 404


def page(actors: Actors, who: str, job: Job, language: str = "en") -> str:
    url = reverse("scheduling:job_detail", args=[job.public_id])
    return sign_in(actors, who, language).get(url).content.decode()
