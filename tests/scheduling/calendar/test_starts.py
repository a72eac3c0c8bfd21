"""A job that waited long gets a start; only what ends before it runs on its cards until then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.audit.models import AuditEntry
from pool.inventory.models import Device
from pool.scheduling import ports
from pool.scheduling.calendar.keeper import Calendar
from pool.scheduling.models import Allocation, Job, JobState, Preemption, Window
from pool.scheduling.services import cancel_job, set_rules
from tests import factories
from tests.conftest import Actors
from tests.scheduling.sharing.world import World, states
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db
HOUR = 3_600


def crowded(actors: Actors, cards: int = 4, limits: tuple[int, ...] = (1, 2, 3, 4), **rules: Any) -> tuple[World, Job]:
    """A card each for jobs that end after so many hours; one of all cards has waited for ten minutes."""
    set_rules(actors.operator, {"starve_after_s": 600, **rules})
    world = World(cards=cards)
    for hours in limits:
        world.submit(actors.a, max_duration=hours * HOUR, preemptible=False)
    world.scheduler.sweep()
    world.run()
    (large,) = world.submit(actors.a, gpus=cards, preemptible=False)
    world.scheduler.sweep()
    assert not Window.objects.exists()
    world.now += timedelta(minutes=11)
    world.scheduler.sweep()
    return world, large


def test_it_gets_the_start_at_which_the_last_of_its_cards_is_free(actors: Actors) -> None:
    world, large = crowded(actors)
    window = Window.objects.get()
    assert (window.job, window.cards, window.sure, window.state) == (large, 4, True, "open")
    ends = Job.objects.exclude(pk=large.pk).order_by("-deadline_at").values_list("deadline_at", flat=True)
    assert timedelta(0) <= window.starts_at - ends[0] <= timedelta(seconds=20)
    assert AuditEntry.objects.get(action="job.reserve_start").object_id == large.public_id
    assert large.events.filter(kind="start_reserved").exists()
    page = sign_in(actors, "member_a").get(f"/jobs/{large.public_id}/").content.decode()
    assert "at the latest: all that runs on its cards has a time limit" in page
    assert "A start is reserved for it" in page
    listed = sign_in(actors, "member_a").get(f"/queues/calendar/?week={window.starts_at:%Y-%m-%d}").content.decode()
    assert f"/jobs/{large.public_id}/" in listed
    assert large.public_id not in sign_in(actors, "member_b").get("/queues/calendar/").content.decode()
    world.scheduler.sweep()
    assert Window.objects.count() == 1


def test_only_what_ends_before_it_is_backfilled(actors: Actors) -> None:
    """The first job ends after an hour; its card is free for two more until the start."""
    world, large = crowded(actors, limits=(1, 4, 4, 4))
    world.now += timedelta(hours=1)
    world.finish(Job.objects.order_by("pk")[0])
    endless, long, short = (
        world.submit(actors.b, priority=1000, preemptible=False, **spec)[0]
        for spec in ({}, {"max_duration": 3 * HOUR}, {"max_duration": 2 * HOUR})
    )
    world.scheduler.sweep()
    assert states(large, endless, long, short) == [JobState.QUEUED, JobState.QUEUED, JobState.QUEUED, JobState.STARTING]
    assert not Preemption.objects.exists()
    world.run()
    for job in Job.objects.filter(state=JobState.RUNNING):
        world.finish(job)
    world.scheduler.sweep()
    assert states(large, endless, long) == [JobState.STARTING, JobState.QUEUED, JobState.QUEUED]
    world.scheduler.sweep()
    assert Window.objects.get().state == "started"
    assert not world.scheduler.calendar.active
    assert not world.scheduler.mirror.pledged


def test_a_part_of_a_card_is_backfilled_beside_another(actors: Actors) -> None:
    world, _large = crowded(actors, limits=(1, 4, 4, 4))
    world.now += timedelta(hours=1)
    world.finish(Job.objects.order_by("pk")[0])
    parts = world.submit(actors.a, 3, gpu_fraction=0.5, max_duration=HOUR)
    world.scheduler.sweep()
    assert states(*parts).count(JobState.STARTING) == 2
    held = Allocation.objects.filter(job__in=parts)
    assert len(set(held.values_list("device", flat=True))) == 1


def test_what_is_predicted_to_end_before_is_let_in_too(actors: Actors) -> None:
    world, _large = crowded(actors, limits=(1, 4, 4, 4))
    world.now += timedelta(hours=1)
    world.finish(Job.objects.order_by("pk")[0])
    known, unknown = world.submit(actors.a, 2, preemptible=False)
    bounds = {known.pk: HOUR}
    ports.set_run_bounds(lambda jobs: {pk: bounds[pk] for pk in jobs if pk in bounds})
    try:
        world.now += timedelta(seconds=20)
        world.scheduler.sweep()
        world.scheduler.sweep()
    finally:
        ports.set_run_bounds(None)
    assert states(known, unknown) == [JobState.STARTING, JobState.QUEUED]


def test_where_nothing_ends_the_start_is_an_estimate_and_cards_gather(actors: Actors) -> None:
    """What runs has no limit: as it ends by itself, its cards are kept, and the large job starts in the end."""
    set_rules(actors.operator, {"starve_after_s": 0, "assumed_runtime_s": HOUR})
    world = World(cards=4)
    endless = world.submit(actors.a, 4, preemptible=False)
    world.scheduler.sweep()
    world.run()
    (large,) = world.submit(actors.a, gpus=4, preemptible=False)
    world.now += timedelta(seconds=20)
    world.scheduler.sweep()
    assert Window.objects.get().sure is False
    small: list[Job] = []
    for job in endless:
        world.finish(job)
        small += world.submit(actors.b, priority=1000, preemptible=False)
        world.now += timedelta(minutes=30)
        world.scheduler.sweep()
    assert states(large, *small) == [JobState.STARTING, *[JobState.QUEUED] * 4]
    # an estimate that passed was put off, not dropped
    assert Window.objects.count() == 1


@pytest.mark.parametrize("rules", [{"starve_after_s": None}, {"starve_cards": 5}, {"starve_after_s": 3_600}])
def test_the_rule_is_a_setting(actors: Actors, rules: dict[str, Any]) -> None:
    crowded(actors, **rules)
    assert not Window.objects.exists()


def test_no_more_starts_at_once_than_the_rule_says(actors: Actors) -> None:
    world, _large = crowded(actors, starve_most=2)
    world.submit(actors.b, 3, gpus=2, preemptible=False)
    world.now += timedelta(minutes=11)
    world.scheduler.sweep()
    world.now += timedelta(minutes=11)
    world.scheduler.sweep()
    assert Window.objects.filter(state="open").count() <= 2


def test_a_job_that_is_cancelled_gives_its_cards_up_at_once(actors: Actors) -> None:
    world, large = crowded(actors, limits=(1, 4, 4, 4))
    world.now += timedelta(hours=1)
    world.finish(Job.objects.order_by("pk")[0])
    (endless,) = world.submit(actors.b, preemptible=False)
    world.scheduler.sweep()
    assert states(endless) == [JobState.QUEUED]
    cancel_job(actors.owner_a, large)
    world.scheduler.sweep()
    assert states(endless) == [JobState.STARTING]
    assert (Window.objects.get().state, Window.objects.get().dropped) == ("dropped", "gone")


def test_a_scheduler_that_takes_over_keeps_the_window(actors: Actors) -> None:
    world, large = crowded(actors, limits=(1, 4, 4, 4))
    world.new_scheduler()
    world.now += timedelta(hours=1)
    world.finish(Job.objects.order_by("pk")[0])
    (endless,) = world.submit(actors.b, priority=1000, preemptible=False)
    world.scheduler.react([endless.pk], [])
    world.scheduler.sweep()
    assert states(large, endless) == [JobState.QUEUED, JobState.QUEUED]
    assert Window.objects.count() == 1


def test_a_card_that_breaks_moves_the_start(actors: Actors) -> None:
    world, large = crowded(actors, cards=4, limits=(1, 1, 1, 1))
    factories.make_node(devices=4)
    Device.objects.filter(node=world.nodes[0], index=0).update(state="faulty")
    world.scheduler.sweep()
    assert states(large) == [JobState.STARTING]  # on the new node, which is free
    world.scheduler.sweep()
    assert not Window.objects.filter(state="open").exists()


def test_memory_and_database_agree_after_backfilling(actors: Actors) -> None:
    world, _large = crowded(actors, limits=(1, 4, 4, 4))
    world.now += timedelta(hours=1)
    world.finish(Job.objects.order_by("pk")[0])
    world.submit(actors.a, 4, gpu_fraction=0.25, max_duration=HOUR)
    world.scheduler.sweep()
    world.run()
    world.scheduler.sweep()
    before = world.scheduler.mirror.fleet.snapshot_id
    world.scheduler.resync()
    assert world.scheduler.mirror.fleet.snapshot_id == before


def test_without_windows_a_pass_asks_nothing(actors: Actors, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(cards=4)
    asked: list[str] = []
    for name in ("keys_for", "own", "lift"):
        monkeypatch.setattr(Calendar, name, lambda *_, _name=name: asked.append(_name))
    jobs = world.submit(actors.a, 6)
    world.scheduler.react([job.pk for job in jobs], [])
    assert states(*jobs).count(JobState.STARTING) == 4
    assert asked == []
