"""Plans are made and carried out through the database: real stops, real starts, one job, one bill."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from console.audit.models import AuditEntry
from pool.inventory.models import Device
from pool.scheduling import services
from pool.scheduling.defrag import planner
from pool.scheduling.ledger.replay import replay
from pool.scheduling.models import (
    Allocation,
    Attempt,
    Decision,
    DefragMove,
    DefragPlan,
    DefragRules,
    FragmentationSample,
    Interval,
    Job,
    JobState,
    NodeCommand,
    Replica,
)
from pool.scheduling.services import moving
from pool.scheduling.services.placement import Fenced
from tests.scheduling.defrag.world import Scattered, state

pytestmark = pytest.mark.django_db


def test_small_jobs_move_and_the_large_one_starts() -> None:
    world = Scattered()
    large = world.wait_for_four()
    plan = world.approve()
    assert (plan.moves, plan.cost_s > 0) == (2, True)
    assert plan.before["classes"]
    assert plan.after["stranded_bp"] <= plan.before["stranded_bp"]
    world.through()
    assert DefragPlan.objects.get(pk=plan.pk).state == "done"
    assert set(DefragMove.objects.values_list("state", flat=True)) == {"moved"}
    world.scheduler.sweep()
    assert state(large) in (JobState.STARTING, JobState.RUNNING)
    assert [state(job) for job in world.stayed] == [JobState.RUNNING] * 4
    assert world.scheduler.mirror.pledged == {}


def test_a_move_is_the_same_job_a_new_attempt_and_one_bill() -> None:
    """No second is billed twice or dropped: the old interval ends with the process, the new begins with its place."""
    world = Scattered(checkpoint={"signal": "USR1", "grace_s": 30})
    world.wait_for_four()
    world.approve()
    world.scheduler.sweep()
    move = DefragMove.objects.order_by("number")[0]
    job = move.job
    assert (job.state, job.stop_reason) == (JobState.STOPPING, "move")
    told = NodeCommand.objects.get(replica=move.replica, kind="stop").payload
    assert (told["signal"], told["signal_s"], told["reason"]) == ("USR1", 30, "move")
    world.now += timedelta(seconds=20)
    ended = world.now
    world.stop()
    assert state(job) == JobState.QUEUED
    assert not Allocation.objects.filter(job=job, released_at=None).exists()
    world.now += timedelta(seconds=3)
    world.scheduler.sweep()
    world.run()
    old, new = Interval.objects.filter(job=job).order_by("started_at")
    assert (old.ended_at, new.started_at, new.ended_at) == (ended, world.now, None)
    assert (old.project, old.queue, old.share_bp) == (new.project, new.queue, new.share_bp)
    assert [attempt.outcome for attempt in Attempt.objects.filter(job=job).order_by("number")] == ["move", ""]
    target = move.target["replicas"][0]
    assert Replica.objects.get(job=job, state="running").node_id == target["node_key"]
    assert new.device_id == target["devices"][0]["device_key"]
    held = Interval.objects.filter(device_id=new.device_id).order_by("started_at")
    assert all(a.ended_at <= b.started_at for a, b in pairwise(held))
    actions = set(AuditEntry.objects.filter(object_id=job.public_id).values_list("action", flat=True))
    assert "job.move" in actions
    assert job.events.filter(kind="moving").exists()


def test_nobody_takes_the_place_or_the_block_meanwhile() -> None:
    world = Scattered(rules={"parallel": 1})
    world.wait_for_four()
    world.approve()
    world.scheduler.sweep()
    thieves = world.submit(world.tenant("thief"), 4)
    world.scheduler.react([job.pk for job in thieves], [])
    world.stop()
    moved = DefragMove.objects.exclude(started_at=None).get()
    world.scheduler.react([moved.job_id, *(job.pk for job in thieves)], [node.pk for node in world.nodes])
    assert state(moved.job) == JobState.STARTING
    assert sum(state(job) == JobState.QUEUED for job in thieves) == 4


def test_killed_at_any_moment_the_next_scheduler_goes_on() -> None:
    world = Scattered()
    large = world.wait_for_four()
    world.approve()
    world.scheduler.sweep()
    world.new_scheduler()
    assert len(world.scheduler.mover.pledges) == DefragMove.objects.filter(state="moving").count() > 0
    world.pass_by()
    world.new_scheduler()
    world.through()
    world.scheduler.sweep()
    assert state(large) in (JobState.STARTING, JobState.RUNNING)
    assert set(DefragMove.objects.values_list("state", flat=True)) == {"moved"}
    assert Attempt.objects.filter(outcome="move").count() == DefragMove.objects.count()


def test_a_scheduler_that_lost_its_lease_moves_nothing() -> None:
    world = Scattered()
    world.wait_for_four()
    world.approve()
    old = world.scheduler
    world.new_scheduler()
    with pytest.raises(Fenced):
        old.mover.advance(world.now)
    assert not DefragMove.objects.exclude(state="planned").exists()
    assert not Job.objects.filter(state=JobState.STOPPING).exists()


def test_the_same_move_twice_is_one() -> None:
    world = Scattered()
    world.wait_for_four()
    world.approve()
    move = DefragMove.objects.select_related("step__plan").order_by("number")[0]
    fence = (world.scheduler.lease_name, world.scheduler.epoch, world.now)
    assert moving.start_move(move, *fence)
    assert not moving.start_move(move, *fence)
    assert NodeCommand.objects.filter(kind="stop").count() == 1


def test_what_went_stale_is_dropped_and_not_forced() -> None:
    """One of the jobs of the step ended meanwhile: the other, whose move alone frees nothing, stays where it is."""
    world = Scattered(rules={"parallel": 1})
    world.wait_for_four()
    world.approve()
    first, second = DefragMove.objects.order_by("number")
    world.finish(first.job)
    world.through()
    first.refresh_from_db()
    second.refresh_from_db()
    assert [(move.state, move.dropped) for move in (first, second)] == [("dropped", "changed"), ("dropped", "step")]
    plan = DefragPlan.objects.get(state="dropped", dropped="stale")
    assert plan.ended_at is not None
    assert not Attempt.objects.filter(outcome="move").exists()
    assert world.scheduler.mirror.pledged == {}


def test_a_place_that_was_taken_is_not_fought_for() -> None:
    world = Scattered()
    world.wait_for_four()
    world.approve()
    move = DefragMove.objects.order_by("number")[0]
    place = move.target["replicas"][0]["devices"][0]["device_key"]
    Device.objects.filter(pk=place).update(state="cordoned")
    world.through()
    move.refresh_from_db()
    assert (move.state, move.dropped) == ("dropped", "taken")
    assert state(move.job) == JobState.RUNNING


def test_a_job_that_is_cancelled_while_it_moves_stays_cancelled() -> None:
    world = Scattered()
    world.wait_for_four()
    world.approve()
    world.scheduler.sweep()
    move = DefragMove.objects.filter(state="moving").order_by("number")[0]
    world.now += timedelta(seconds=5)
    world.stop()
    services.cancel_job(world.operator(), move.job)
    world.through()
    move.refresh_from_db()
    assert (state(move.job), move.state, move.dropped) == (JobState.CANCELLED, "dropped", "changed")
    assert world.scheduler.mirror.pledged == {}


@pytest.mark.parametrize("spec", [{"preemptible": False}, {"preempt_min_runtime": 86_400}, {"max_duration": 6_000}])
def test_what_may_not_be_preempted_ran_too_short_or_ends_soon_is_left_alone(spec: dict[str, object]) -> None:
    world = Scattered(**spec)
    world.wait_for_four()
    assert world.plan().state == "empty"


def test_measures_are_stored_once_a_slot_and_the_map_of_the_latest_only() -> None:
    world = Scattered(rules={"period_s": 0})
    for _ in range(3):
        world.now += timedelta(minutes=5)
        planner.work(world.now)
        planner.work(world.now)
    assert FragmentationSample.objects.count() == 3
    assert FragmentationSample.objects.exclude(cells=None).count() == 1
    assert not DefragPlan.objects.exists()
    newest = FragmentationSample.objects.latest("at")
    assert (newest.capacity_bp, newest.free_bp, newest.devices) == (80_000, 40_000, 8)


def test_by_schedule_by_itself_and_inside_windows_only() -> None:
    world = Scattered(rules={"mode": "automatic", "busiest_percent": 100, "windows": []})
    world.wait_for_four()
    assert world.plan().state == "running"
    DefragPlan.objects.all().delete()
    day = [{"days": [0, 1, 2, 3, 4, 5, 6], "from": "00:00", "to": "00:01"}]
    DefragRules.objects.update(windows=day, time_zone="UTC")
    world.now = world.now.replace(hour=12)
    assert world.plan().state == "proposed"
    DefragRules.objects.update(windows=[], busiest_percent=10)
    assert world.plan().state == "proposed"


def test_its_decision_is_in_the_ledger_and_can_be_made_again() -> None:
    world = Scattered()
    world.wait_for_four()
    plan = world.approve()
    world.through()
    move = DefragMove.objects.order_by("number")[0]
    decision = Decision.objects.filter(job=move.job, placed=True).latest("pk")
    assert (decision.inputs["order"], decision.inputs["move"]) == ("move", plan.public_id)
    again = replay(decision.public_id)
    assert again.same
    DefragMove.objects.filter(pk=move.pk).update(target=DefragMove.objects.order_by("number")[1].target)
    assert not replay(decision.public_id).same
