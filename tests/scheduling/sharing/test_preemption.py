"""Room is made through the database: victims stop, the place is held, the job starts there, bills are closed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from console.audit.models import AuditEntry
from console.common.actor import system
from pool.scheduling import ports, services
from pool.scheduling.models import (
    Allocation,
    Attempt,
    Interval,
    Job,
    JobState,
    NodeCommand,
    Preemption,
    Replica,
    Victim,
)
from pool.scheduling.preemption import maker, roll
from pool.scheduling.services import preempting
from pool.scheduling.services.placement import Fenced
from tests import factories
from tests.scheduling.sharing.world import CARD, World, states

pytestmark = pytest.mark.django_db


def full(cards: int = 4, nodes: int = 1, **more: object) -> World:
    """`greedy` holds everything; nothing waits."""
    world = World(cards=cards, nodes=nodes)
    world.submit(world.tenant("greedy"), cards, **more)
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(minutes=10)
    return world


def tenant(slug: str) -> object:
    from console.tenants.models import Tenant

    return Tenant.objects.get(slug=slug)


def test_who_is_below_its_share_takes_it_back() -> None:
    world = full()
    late = world.tenant("late")
    asked = world.submit(late, 3)
    assert world.settle() > 0
    assert (world.cards(tenant("greedy")), world.cards(late)) == (2, 2)
    assert Victim.objects.count() == 2
    assert sorted(states(*asked)) == [JobState.QUEUED, JobState.RUNNING, JobState.RUNNING]
    assert set(Preemption.objects.values_list("state", "why")) == {("started", "reclaim")}
    assert world.settle() == 0
    assert Victim.objects.count() == 2


def test_several_places_of_one_node_become_free_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is held for its job until it is stored; nobody else who waits is placed there, not for a moment."""
    monkeypatch.setattr(maker, "BUDGET_S", 3600.0)  # all plans in one sweep, however slow the machine
    world = full(cards=8)
    late = world.tenant("late", quota_share_bp=4 * CARD)
    world.submit(late, 4)
    world.scheduler.sweep()
    assert (Victim.objects.count(), len(world.scheduler.rooms.pledges)) == (4, 4)
    world.run()
    world.stop()
    with capture_logs() as told:
        world.scheduler.sweep()
    assert [line["event"] for line in told if line["log_level"] == "warning"] == []
    assert (world.cards(tenant("greedy")), world.cards(late)) == (4, 4)


def test_the_victim_waits_again_its_attempt_preempted_and_its_bill_closed_at_its_end() -> None:
    world = full(cards=1)
    late = world.tenant("late", quota_share_bp=CARD)
    (asked,) = world.submit(late)
    world.scheduler.sweep()
    victim = Job.objects.get(tenant__slug="greedy")
    assert (victim.state, victim.stop_reason) == (JobState.STOPPING, "preempt")
    command = NodeCommand.objects.get(replica__job=victim, kind="stop")
    assert (command.payload["reason"], command.payload["grace_s"]) == ("preempt", 10)
    assert states(asked) == [JobState.QUEUED]
    world.now += timedelta(seconds=7)
    world.stop()
    world.scheduler.sweep()
    victim.refresh_from_db()
    assert (victim.state, victim.stop_reason) == (JobState.QUEUED, "")
    assert Attempt.objects.get(job=victim).outcome == "preempt"
    interval = Interval.objects.get(job=victim)
    assert (interval.ended_at, interval.end_reason) == (world.now, "stopped")
    assert states(asked) == [JobState.STARTING]
    assert Interval.objects.get(job=asked).started_at >= interval.ended_at
    actions = set(AuditEntry.objects.filter(object_id=victim.public_id).values_list("action", flat=True))
    assert "job.preempt" in actions


def test_no_third_job_takes_the_room() -> None:
    """Not when the victim has gone, not while it goes, and not in the part that was free before."""
    world = World(cards=2)
    greedy, late, third = world.tenant("greedy"), world.tenant("late", quota_share_bp=2 * CARD), world.tenant("third")
    world.submit(greedy)
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(minutes=10)
    (asked,) = world.submit(late, gpus=2)
    world.scheduler.sweep()
    assert Preemption.objects.get().state == "open"
    thieves = [*world.submit(third, 2, priority=1000), *world.submit(third, gpu_fraction=0.1)]
    world.scheduler.react([job.pk for job in thieves], [])
    world.scheduler.sweep()
    assert states(*thieves) == [JobState.QUEUED] * 3
    world.stop()
    world.scheduler.react([job.pk for job in thieves], [node.pk for node in world.nodes])
    assert states(asked, *thieves) == [JobState.STARTING, *[JobState.QUEUED] * 3]


def test_lower_priority_of_the_same_queue_goes_and_the_cheapest_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = full(priority=1)
    jobs = list(Job.objects.order_by("pk"))
    saved = {jobs[2].pk: ports.Checkpoint(world.now - timedelta(seconds=5), restart_s=1)}
    monkeypatch.setattr(ports, "_checkpoints", lambda wanted: {pk: at for pk, at in saved.items() if pk in wanted})
    world.scheduler.resync()
    (asked,) = world.submit(tenant("greedy"), priority=5)
    world.scheduler.sweep()
    victim = Victim.objects.get()
    assert (victim.job, victim.because, victim.checkpoint_age_s, victim.cost_s) == (jobs[2], "lower_priority", 5, 6)
    assert Preemption.objects.get().why == "priority"
    world.stop()
    world.scheduler.sweep()
    assert states(asked) == [JobState.STARTING]


def test_what_may_not_be_preempted_stays() -> None:
    world = full(preemptible=False)
    (asked,) = world.submit(world.tenant("late", quota_share_bp=4 * CARD))
    assert world.settle() == 0
    assert states(asked) == [JobState.QUEUED]
    assert not Preemption.objects.exists()


def test_a_job_that_was_preempted_is_left_alone_for_a_while() -> None:
    world = full(cards=1)
    late = world.tenant("late", quota_share_bp=CARD)
    (asked,) = world.submit(late)
    world.settle()
    assert states(asked) == [JobState.RUNNING]
    world.finish(asked)
    world.settle()
    assert world.cards(tenant("greedy")) == 1
    world.submit(late)
    world.settle()
    assert Victim.objects.count() == 1  # within the cool-down of five minutes
    world.now += timedelta(minutes=6)
    world.settle()
    assert (Victim.objects.count(), world.cards(late)) == (2, 1)


def test_a_gang_makes_room_for_all_of_it_or_none() -> None:
    world = full(cards=4, nodes=2)
    late = world.tenant("late", quota_share_bp=3 * CARD)
    (gang,) = world.submit(late, replicas=3)
    world.submit(late, replicas=4)
    world.settle()
    assert (world.cards(late), Victim.objects.count()) == (3, 3)
    assert Allocation.objects.filter(job=gang, released_at=None, device__isnull=False).count() == 3


def test_an_elastic_gang_gives_what_it_can_do_without() -> None:
    world = World(cards=4)
    greedy, late = world.tenant("greedy"), world.tenant("late", quota_share_bp=CARD)
    (gang,) = world.submit(greedy, replicas=4, min_member=2)
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(minutes=10)
    world.submit(late)
    world.settle()
    victim = Victim.objects.get()
    assert (victim.whole, len(victim.replicas)) == (False, 1)
    assert states(gang) == [JobState.RUNNING]
    assert (world.cards(greedy), world.cards(late)) == (3, 1)
    assert Interval.objects.filter(job=gang, ended_at=None).count() == 3


def test_a_start_that_nobody_picked_up_is_withdrawn_and_the_place_is_free_at_once() -> None:
    world = World(cards=1)
    world.submit(world.tenant("greedy"))
    world.scheduler.sweep()
    (asked,) = world.submit(world.tenant("late", quota_share_bp=CARD))
    world.scheduler.sweep()
    world.scheduler.sweep()
    assert states(asked) == [JobState.STARTING]
    assert Interval.objects.filter(ended_at=None).count() == 1


# -- killed, fenced, overtaken


def asked_and_planned() -> tuple[World, Job]:
    world = full(cards=1)
    (asked,) = world.submit(world.tenant("late", quota_share_bp=CARD))
    world.scheduler.sweep()
    assert Preemption.objects.get().state == "open"
    return world, asked


def test_a_scheduler_that_takes_over_goes_on_with_the_plan() -> None:
    world, asked = asked_and_planned()
    world.new_scheduler()
    third = world.submit(world.tenant("third"), priority=1000)
    world.stop()
    world.scheduler.sweep()
    assert states(asked, *third) == [JobState.STARTING, JobState.QUEUED]
    world.scheduler.sweep()
    assert Preemption.objects.get().state == "started"
    assert Victim.objects.count() == 1


def test_killed_after_the_start_was_stored_the_next_one_closes_the_plan() -> None:
    world, asked = asked_and_planned()
    world.stop()
    world.scheduler.sweep()
    assert states(asked) == [JobState.STARTING]
    Preemption.objects.update(state="open", ended_at=None)
    world.new_scheduler().sweep()
    assert Preemption.objects.get().state == "started"


def test_a_job_that_is_cancelled_meanwhile_drops_its_plan_and_the_place_is_for_all_again() -> None:
    world, asked = asked_and_planned()
    from console.common.actor import system

    services.cancel_job(system("test"), asked)
    world.stop()
    world.settle()
    assert (Preemption.objects.get().state, Preemption.objects.get().dropped) == ("dropped", "gone")
    assert world.cards(tenant("greedy")) == 1
    assert not world.scheduler.mirror.pledged


def test_a_place_that_is_gone_drops_the_plan_and_is_not_forced() -> None:
    world, asked = asked_and_planned()
    world.nodes[0].state = "cordoned"
    world.nodes[0].save(update_fields=["state"])
    world.stop()
    world.scheduler.sweep()
    world.scheduler.sweep()
    assert (Preemption.objects.get().dropped, states(asked)) == ("stale", [JobState.QUEUED])


def test_what_does_not_end_in_time_is_given_up() -> None:
    world, asked = asked_and_planned()
    world.now += timedelta(minutes=11)
    world.scheduler.sweep()
    assert (Preemption.objects.get().dropped, states(asked)) == ("late", [JobState.QUEUED])


def test_a_scheduler_that_lost_its_lease_stops_nobody() -> None:
    world = full(cards=1)
    old = world.scheduler
    world.new_scheduler()
    world.submit(world.tenant("late", quota_share_bp=CARD))
    with pytest.raises(Fenced):
        old.sweep()
    assert not Preemption.objects.exists()
    assert set(Job.objects.filter(tenant__slug="greedy").values_list("state", flat=True)) == {JobState.RUNNING}


def test_killed_half_way_through_nothing_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan, all victims and the place stand or fall together."""
    world = full(cards=2)
    world.submit(world.tenant("late", quota_share_bp=2 * CARD), gpus=2)
    calls: list[int] = []

    def dies(*args: object) -> bool:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return stop_job(*args)  # type: ignore[arg-type]

    stop_job = preempting.stop_job
    monkeypatch.setattr(preempting, "stop_job", dies)
    with pytest.raises(KeyboardInterrupt):
        world.scheduler.sweep()
    assert not Preemption.objects.exists()
    assert set(Replica.objects.values_list("state", flat=True)) == {"running"}
    monkeypatch.undo()
    world.new_scheduler()
    world.settle()
    assert world.cards(tenant("late")) == 2


def test_a_victim_that_ended_by_itself_meanwhile_is_not_told_to_stop() -> None:
    world = full(cards=1)
    world.scheduler.sweep()
    (asked,) = world.submit(world.tenant("late", quota_share_bp=CARD))
    world.scheduler.waiting.reconcile()
    world.finish(Job.objects.get(tenant__slug="greedy"))
    world.scheduler.rooms.plan(world.now, lambda _: True)
    assert not Preemption.objects.exists()
    world.scheduler.sweep()
    assert states(asked) == [JobState.STARTING]


def test_room_for_all_asks_for_no_plan(django_assert_num_queries: object) -> None:
    """What a pass without contention costs is nothing: nobody waits, nothing is asked."""
    world = World(cards=2)
    world.submit(world.tenant("one"))
    world.scheduler.sweep()
    with django_assert_num_queries(0):  # type: ignore[operator]
        world.scheduler.rooms.settle(world.now)
        world.scheduler.rooms.plan(world.now, lambda _: True)


def test_a_department_takes_back_within_itself_first() -> None:
    """A sibling that is over goes before anybody of another department."""
    world = World(cards=4)
    one, two = world.tenant("one"), world.tenant("two")
    top = one.queues.get()
    for name in ("a", "b"):
        factories.make_queue(one, name, parent=top, quota_share_bp=CARD)
    world.submit(one, 2, queue="a")
    world.submit(two, 2)
    world.settle()
    world.now += timedelta(minutes=10)
    world.submit(one, queue="b")
    world.settle()
    assert Victim.objects.get().queue.name == "a"
    assert (world.cards(one), world.cards(two)) == (2, 2)


def test_while_nobody_asks_changes_are_not_gathered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool.scheduling.preemption.roll.MANY", 1)
    world = full(cards=2)
    world.scheduler.sweep()
    assert not world.scheduler.mirror.holdings.touched
    world.submit(world.tenant("late", quota_share_bp=CARD))
    world.settle()
    assert Victim.objects.count() == 1


def test_what_victims_saved_since_is_known_when_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The roll reads a job when its allocations change; a checkpoint changes none."""
    world = full(cards=2, priority=1)
    jobs = list(Job.objects.order_by("pk"))
    (asked,) = world.submit(tenant("greedy"), priority=1)
    world.scheduler.sweep()  # nobody of the same priority goes; the roll knows both, never saved
    monkeypatch.setattr(roll, "SAVED_S", 0.0)
    world.scheduler.rooms.roll._saves_due = 0.0
    saved = ports.Checkpoint(world.now - timedelta(seconds=30))
    monkeypatch.setattr(ports, "_checkpoints", lambda wanted: {jobs[0].pk: saved} if jobs[0].pk in wanted else {})
    services.set_priority(system("test"), asked, 5)
    world.scheduler.sweep()
    victim = Victim.objects.get()
    assert (victim.job, victim.checkpoint_age_s, victim.cost_s) == (jobs[0], 30, 30)


def test_a_job_that_chose_a_signal_is_asked_to_save_before_a_planned_stop_only() -> None:
    world = full(cards=2, checkpoint={"signal": "USR2", "grace_s": 90})
    world.submit(world.tenant("late", quota_share_bp=CARD))
    world.scheduler.sweep()
    victim = Victim.objects.get()
    told = NodeCommand.objects.get(replica__job=victim.job, kind="stop").payload
    assert (told["signal"], told["signal_s"], told["grace_s"]) == ("USR2", 90, 10)
    other = Job.objects.get(state=JobState.RUNNING)
    services.cancel_job(system("test"), other)
    assert "signal" not in NodeCommand.objects.get(replica__job=other, kind="stop").payload
