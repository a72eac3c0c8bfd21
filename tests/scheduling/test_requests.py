"""The complete request through the product: submit, placement, what is stored, and who waits for whom."""

from datetime import timedelta
from typing import Any

import pytest

from console.common import clock, lease
from console.common.errors import Conflict, InvalidInput
from pool.inventory.models import Node
from pool.scheduling import services
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import Allocation, Job, JobState, Replica, ReplicaState
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.conftest import Actors

pytestmark = pytest.mark.django_db


@pytest.fixture
def scheduler(db: None) -> Scheduler:
    epoch = lease.acquire(lease_name(), "test", timedelta(seconds=60), clock.now())
    assert epoch is not None
    return Scheduler(epoch)


def submit(actors: Actors, **more: Any) -> Job:
    return services.submit_job(actors.member_a, {"name": "train", "command": ["true"], **more})


def nodes_of(job: Job) -> list[str]:
    return list(Replica.objects.filter(job=job).order_by("rank").values_list("node__name", flat=True))


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


def end(job: Job) -> None:
    for replica in Replica.objects.filter(job=job, ended_at=None):
        services.replica_ended(
            replica.public_id, received_at=clock.now(), age_us=0, exit_code=0, detail="", result="succeeded"
        )


def test_selector_vendor_and_preference_choose_the_card(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node("n1", devices=1, labels={"zone": "a"})
    factories.make_node("n2", devices=1, labels={"zone": "b"})
    factories.make_node("n3", devices=1, model="T4", labels={"zone": "b"})
    by_label = submit(actors, gpu_selector={"zone": "b"}, vendors=["nvidia"], models=["H100-80GB"])
    by_rank = submit(actors, preference=["T4", "H100-80GB"])
    next_rank = submit(actors, preference=["T4", "H100-80GB"])
    scheduler.sweep()
    assert [nodes_of(job) for job in (by_label, by_rank, next_rank)] == [["n2"], ["n3"], ["n1"]]
    told = [job.decisions.get().reasons.get("preference") for job in (by_label, by_rank, next_rank)]
    assert told == [None, [["worker", "T4"]], [["worker", "H100-80GB"]]]


def test_labels_of_a_card_go_before_those_of_its_node(actors: Actors, scheduler: Scheduler) -> None:
    node = factories.make_node("n1", devices=2, labels={"tier": "old", "address": "10.0.0.1"})
    card = node.devices.get(index=1)
    card.labels = {"tier": "new"}
    card.save()
    job = submit(actors, gpu_selector={"tier": "new"})
    scheduler.sweep()
    assert Allocation.objects.get(job=job).device_id == card.pk
    with pytest.raises(InvalidInput) as caught:  # where a node answers is no property of its cards
        submit(actors, gpu_selector=[{"key": "address", "operator": "Exists"}])
    assert caught.value.errors[0].field == "gpu_selector"


def test_a_change_of_labels_is_learned_by_the_next_sweep(actors: Actors, scheduler: Scheduler) -> None:
    node = factories.make_node("n1", devices=1, labels={"zone": "a"})
    taken = submit(actors, gpu_selector={"zone": "a"})
    waits = submit(actors, gpu_selector={"zone": "a"})
    other = factories.make_node("n2", devices=1)
    scheduler.sweep()
    assert (nodes_of(taken), state_of(waits)) == (["n1"], JobState.QUEUED)
    Node.objects.filter(pk=other.pk).update(labels={"zone": "a"})
    scheduler.sweep()
    assert nodes_of(waits) == ["n2"]
    assert node.pk != other.pk


def test_a_gang_stays_in_its_rack_and_its_ranks_follow_the_topology(actors: Actors, scheduler: Scheduler) -> None:
    for name, rack in (("n1", "r1"), ("n2", "r2"), ("n3", "r1"), ("n4", "r2")):
        factories.make_node(name, devices=2, rack=rack)
    small = submit(actors, gpus=2)
    scheduler.sweep()
    taken = nodes_of(small)[0]
    gang = submit(actors, gpus=1, replicas=4, required_topology_level="rack")
    scheduler.sweep()
    expected = ["n2", "n2", "n4", "n4"] if taken in ("n1", "n3") else ["n1", "n1", "n3", "n3"]
    assert nodes_of(gang) == expected
    told = gang.decisions.get().reasons["neighbourhood"]
    assert (told["level"], told["wanted"], told["met"]) == ("rack", 4, True)
    assert 0 < told["communication_bp"] <= 10_000
    waits = submit(actors, gpus=1, replicas=3, required_topology_level="rack")
    scheduler.sweep()
    reasons = waits.decisions.get().reasons
    assert [(level["level"], level["holding"]) for level in reasons["levels"]][-1] == ("rack", 0)


def test_replicas_that_repel_each_other_and_keep_later_work_away(actors: Actors, scheduler: Scheduler) -> None:
    for name in ("n1", "n2", "n3"):
        factories.make_node(name, devices=4)
    apart = {"labels": {"app": "web"}, "anti_affinity": [{"job_labels": {"app": "web"}, "level": "node"}]}
    first = submit(actors, gpus=1, cpu_milli=1000, replicas=2, **apart)
    scheduler.sweep()
    assert len(set(nodes_of(first))) == 2
    like_it = submit(actors, gpus=1, labels={"app": "web"})
    stranger = services.submit_job(
        actors.member_b, {"name": "x", "command": ["true"], "gpus": 1, "labels": {"app": "web"}}
    )
    scheduler.sweep()
    assert set(nodes_of(like_it)) == {"n1", "n2", "n3"} - set(nodes_of(first))
    assert state_of(stranger) == JobState.STARTING
    waits = submit(actors, gpus=1, **apart)
    scheduler.sweep()
    assert state_of(waits) == JobState.QUEUED
    end(first)
    scheduler.sweep()
    assert state_of(waits) == JobState.STARTING
    assert nodes_of(waits)[0] not in nodes_of(like_it)


def test_who_must_stand_near_its_like_is_tried_again_when_that_starts(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node("n1", devices=2)
    factories.make_node("n2", devices=2)
    follower = submit(actors, gpus=1, affinity=[{"job_labels": {"app": "data"}, "level": "node"}])
    scheduler.sweep()
    assert state_of(follower) == JobState.QUEUED
    data = submit(actors, gpus=1, labels={"app": "data"})
    scheduler.react([data.pk], [])
    scheduler.sweep()
    assert nodes_of(follower) == nodes_of(data)


def test_neighbours_are_known_to_a_scheduler_that_takes_over(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node("n1", devices=2)
    factories.make_node("n2", devices=2)
    apart = {"labels": {"app": "web"}, "anti_affinity": [{"job_labels": {"app": "web"}}]}
    first = submit(actors, gpus=1, cpu_milli=500, **apart)
    scheduler.sweep()
    fresh = FleetMirror()
    fresh.sync()
    assert fresh.fleet.labelled.content() == scheduler.mirror.fleet.labelled.content() != []
    taken_over = Scheduler(scheduler.epoch)
    second = submit(actors, gpus=1, **apart)
    taken_over.sweep()
    assert set(nodes_of(first)) & set(nodes_of(second)) == set()
    for job in (first, second):
        end(job)
    taken_over.sweep()
    assert taken_over.mirror.fleet.labelled.content() == []


def test_unequal_devices_in_one_replica(actors: Actors, scheduler: Scheduler) -> None:
    node = factories.make_node("n1", devices=2)
    node.devices.filter(index=1).update(mig_enabled=True)
    job = submit(actors, devices=[{"mig_profile": "1g.10gb", "gpus": 2}, {"gpus": 1}], cpu_milli=2000)
    scheduler.sweep()
    held = Allocation.objects.filter(job=job).order_by("pk").values_list("device__index", "isolation", "mig_profile")
    assert list(held) == [(1, "mig", "1g.10gb"), (1, "mig", "1g.10gb"), (0, "exclusive", "")]
    assert job.total_share_bp == 30_000


def test_compute_and_memory_are_ceilings_of_their_own(actors: Actors, scheduler: Scheduler) -> None:
    node = factories.make_node("n1", devices=1)
    job = submit(actors, gpu_fraction=0.25, gpu_cores_percent=60)
    scheduler.sweep()
    held = Allocation.objects.get(job=job)
    assert (held.share_bp, held.isolation) == (6_000, "vgpu")
    assert held.memory_mib == scheduler.mirror.specs[node.pk].devices[0].memory_mib // 4
    assert state_of(submit(actors, gpu_fraction=0.5, gpu_cores_percent=50)) == JobState.QUEUED


def test_an_elastic_gang_takes_what_there_is_and_a_role_below_its_minimum_stops_it(
    actors: Actors, scheduler: Scheduler
) -> None:
    factories.make_node("n1", devices=4)
    roles = [
        {"name": "ps", "replicas": 1, "gpus": 1},
        {"name": "worker", "replicas": 2, "min_replicas": 1, "max_replicas": 8, "gpus": 1},
    ]
    job = submit(actors, roles=roles)
    scheduler.sweep()
    assert Replica.objects.filter(job=job).count() == 4
    for replica in Replica.objects.filter(job=job):
        services.replica_started(replica.public_id, received_at=clock.now())
    lose(Replica.objects.filter(job=job, role__name="worker").order_by("rank").last())
    assert state_of(job) == JobState.RUNNING
    lose(Replica.objects.get(job=job, role__name="ps"))
    assert state_of(job) == JobState.STOPPING


def test_an_elastic_gang_takes_no_more_than_its_limit_and_starts_with_its_minimum(
    actors: Actors, scheduler: Scheduler
) -> None:
    factories.make_node("n1", devices=8)
    actors.a.queues.update(limit_share_bp=50_000)
    spec = {"replicas": 4, "min_replicas": 2, "max_replicas": 8, "gpus": 1}
    first, second, third = (submit(actors, **spec) for _ in range(3))
    run = services.dry_run(actors.member_a, {"name": "x", "command": ["a"], **spec})
    assert (run.fits, len(run.placements)) == (True, 5)
    scheduler.sweep()
    assert [Replica.objects.filter(job=job).count() for job in (first, second, third)] == [5, 0, 0]
    end(first)
    actors.a.queues.update(limit_share_bp=30_000)
    scheduler.sweep()
    assert [Replica.objects.filter(job=job).count() for job in (second, third)] == [3, 0]
    assert third.decisions.latest("id").reasons["limit"]["used"] == 30_000


def lose(replica: Replica | None) -> None:
    assert replica is not None
    services.replica_ended(
        replica.public_id, received_at=clock.now(), age_us=0, exit_code=1, detail="exit 1", result="failed"
    )


def test_start_no_earlier_than(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node("n1", devices=1)
    start = clock.now() + timedelta(hours=2)
    job = submit(actors, start_no_earlier_than=start.isoformat())
    scheduler.react([job.pk], [])
    scheduler.sweep()
    assert state_of(job) == JobState.QUEUED
    assert not job.decisions.exists()
    scheduler.clock = scheduler.waiting.clock = lambda: start
    scheduler.sweep()
    assert state_of(job) == JobState.STARTING


def test_a_deadline_ends_what_waits_and_what_runs(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node("n1", devices=1)
    at = clock.now() + timedelta(hours=1)
    runs = submit(actors, deadline=at.isoformat(), max_duration=86_400)
    waits = submit(actors, deadline=at.isoformat())
    scheduler.sweep()
    services.claim_commands([n.pk for n in Node.objects.all()], "g", clock.now())
    for replica in Replica.objects.filter(job=runs, state=ReplicaState.ASSIGNED):
        services.replica_started(replica.public_id, received_at=clock.now())
    runs.refresh_from_db()
    assert (runs.state, runs.deadline_at) == (JobState.RUNNING, at)
    assert services.expire_jobs(at - timedelta(seconds=1)) == 0
    assert services.expire_jobs(at) == 2
    waits.refresh_from_db()
    assert (waits.state, waits.outcome, waits.finished_at) == (JobState.EXPIRED, "deadline", at)
    end(runs)
    runs.refresh_from_db()
    assert (runs.state, runs.outcome) == (JobState.EXPIRED, "deadline")
    Job.objects.filter(pk=waits.pk).update(finish_by=clock.now() - timedelta(seconds=1))
    waits.refresh_from_db()
    with pytest.raises(Conflict, match="deadline"):
        services.retry_job(actors.member_a, waits)


def test_a_requeued_job_keeps_its_deadline(actors: Actors, scheduler: Scheduler) -> None:
    factories.make_node("n1", devices=1)
    at = clock.now() + timedelta(hours=1)
    job = submit(actors, deadline=at.isoformat())
    scheduler.sweep()
    services.requeue_job(actors.member_a, job)
    job.refresh_from_db()
    assert (job.state, job.deadline_at) == (JobState.QUEUED, at)
