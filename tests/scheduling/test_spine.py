"""Submit, place, run, end: the states, holds and intervals on the way."""

from datetime import timedelta

import pytest

from console.audit.models import AuditEntry
from console.common import clock, lease
from console.common.errors import Conflict, InvalidInput
from pool.inventory.models import Device, Node
from pool.inventory.services import set_mig_enabled
from pool.scheduling import admission, services
from pool.scheduling.models import Allocation, Interval, Job, JobState, NodeCommand, Replica, ReplicaState
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def scheduler(db):
    epoch = lease.acquire(lease_name(), "test", timedelta(seconds=60), clock.now())
    return Scheduler(epoch)


def submit(actors, **more):
    spec = {"name": "train", "command": ["python", "train.py"], **more}
    return services.submit_job(actors.member_a, spec)


def started(job):
    for replica in Replica.objects.filter(job=job, state=ReplicaState.ASSIGNED):
        services.replica_started(replica.public_id, received_at=clock.now())


def ended(job, result="succeeded", exit_code=0, age_us=0, **at):
    for replica in Replica.objects.filter(job=job, ended_at=None):
        services.replica_ended(
            replica.public_id,
            received_at=at.get("received_at", clock.now()),
            age_us=age_us,
            exit_code=exit_code,
            detail="",
            result=result,
        )


def test_whole_life_of_a_job(actors, scheduler):
    node = factories.make_node(devices=2)
    job = submit(actors, gpus=1, gpu_fraction=0.25, gpu_memory_mib=4096, cpu_milli=2000, memory_mib=1024)
    scheduler.sweep()
    job.refresh_from_db()
    assert job.state == JobState.STARTING
    allocation = Allocation.objects.get(job=job, device__isnull=False)
    assert (allocation.share_bp, allocation.memory_mib, allocation.isolation) == (2500, 4096, "vgpu")
    device = Device.objects.get(pk=allocation.device_id)
    assert (device.used_share_bp, device.used_memory_mib, device.live_shared) == (2500, 4096, 1)
    node.refresh_from_db()
    assert (node.used_cpu_milli, node.used_memory_mib) == (2000, 1024)
    command = NodeCommand.objects.get(replica__job=job)
    assert command.kind == "start"
    assert command.payload["devices"][0]["uuid"] == device.uuid

    started(job)
    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    now = clock.now()
    ended(job, age_us=1000, received_at=now)
    job.refresh_from_db()
    interval = Interval.objects.get(job=job)
    assert job.state == JobState.SUCCEEDED
    assert interval.ended_at == max(interval.started_at, now - timedelta(microseconds=1000))
    device.refresh_from_db()
    node.refresh_from_db()
    assert (device.used_share_bp, device.used_memory_mib, node.used_cpu_milli) == (0, 0, 0)
    actions = list(AuditEntry.objects.filter(object_id=job.public_id).order_by("id").values_list("action", flat=True))
    assert actions == ["job.submit", "job.place"]


@pytest.mark.parametrize("wanted", [{"cpu_milli": 1000}, {"memory_mib": 512}, {}])
def test_work_without_cards_runs_and_ends(actors, scheduler, wanted):
    """It has no card's allocation or no interval, and once these were assumed to be there."""
    node = factories.make_node(devices=1)
    job = submit(actors, gpus=0, **wanted)
    scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == JobState.STARTING
    assert not Allocation.objects.filter(job=job, device__isnull=False).exists()
    assert not Interval.objects.filter(job=job).exists()
    node.refresh_from_db()
    assert node.used_cpu_milli == wanted.get("cpu_milli", 0)
    started(job)
    ended(job)
    assert Job.objects.get(pk=job.pk).state == JobState.SUCCEEDED
    node.refresh_from_db()
    assert (node.used_cpu_milli, node.used_memory_mib) == (0, 0)


def test_scheduler_learns_of_releases_and_new_nodes_from_versions(actors, scheduler):
    factories.make_node(devices=1)
    first, second = submit(actors), submit(actors)
    scheduler.sweep()
    assert Job.objects.get(pk=second.pk).state == JobState.QUEUED
    started(first)
    ended(first)
    scheduler.sweep()
    assert Job.objects.get(pk=second.pk).state == JobState.STARTING
    third = submit(actors)
    factories.make_node(devices=1)
    scheduler.sweep()
    assert Job.objects.get(pk=third.pk).state == JobState.STARTING


def test_reaction_to_a_hint_needs_no_sweep(actors, scheduler):
    factories.make_node(devices=1)
    scheduler.sweep()
    job = submit(actors)
    scheduler.react([job.pk], [])
    assert Job.objects.get(pk=job.pk).state == JobState.STARTING


def test_gang_is_all_or_nothing(actors, scheduler):
    factories.make_node(devices=2)
    factories.make_node(devices=2)
    gang = submit(actors, gpus=1, replicas=3)
    other = submit(actors, gpus=1, replicas=2)
    scheduler.sweep()
    assert Allocation.objects.filter(job=gang).count() == 3
    assert Allocation.objects.filter(job=other).count() == 0
    ranks = list(Replica.objects.filter(job=gang).order_by("rank").values_list("rank", flat=True))
    assert ranks == [0, 1, 2]
    commands = services.claim_commands([node.pk for node in Node.objects.all()], "gateway-1", clock.now())
    assert [[peer["rank"] for peer in command.payload["peers"]] for command in commands] == [[0, 1, 2]] * 3


def test_one_failed_member_stops_the_gang(actors, scheduler):
    factories.make_node(devices=2)
    gang = submit(actors, gpus=1, replicas=2)
    scheduler.sweep()
    services.claim_commands([n.pk for n in Node.objects.all()], "gateway-1", clock.now())
    started(gang)
    first = Replica.objects.filter(job=gang).order_by("rank").first()
    services.replica_ended(
        first.public_id, received_at=clock.now(), age_us=0, exit_code=3, detail="exit 3", result="failed"
    )
    gang.refresh_from_db()
    assert gang.state == JobState.STOPPING
    assert NodeCommand.objects.filter(replica__job=gang, kind="stop", state="pending").count() == 1
    ended(gang, result="stopped", exit_code=None)
    gang.refresh_from_db()
    assert gang.state == JobState.FAILED


def test_cancel_before_anything_started_frees_at_once(actors, scheduler):
    factories.make_node(devices=1)
    job = submit(actors)
    scheduler.sweep()
    services.cancel_job(actors.member_a, job)
    assert job.state == JobState.CANCELLED
    assert Device.objects.get().used_share_bp == 0
    assert NodeCommand.objects.get().state == "obsolete"


def test_start_was_carried_out_when_news_of_the_end_overtakes_its_confirmation(actors, scheduler):
    node = factories.make_node(devices=1)
    job = submit(actors)
    scheduler.sweep()
    (command,) = services.claim_commands([node.pk], "gateway-1", clock.now())
    ended(job, result="succeeded", exit_code=0)
    assert NodeCommand.objects.get().state == "done"
    assert not services.command_done(command.public_id, True, "", clock.now())


def test_cancel_of_a_running_job_waits_for_its_processes(actors, scheduler):
    node = factories.make_node(devices=1)
    job = submit(actors)
    scheduler.sweep()
    (command,) = services.claim_commands([node.pk], "gateway-1", clock.now())
    services.command_done(command.public_id, True, "", clock.now())
    started(job)
    services.cancel_job(actors.member_a, job)
    assert job.state == JobState.STOPPING
    assert Device.objects.get().used_share_bp == 10000
    (stop,) = services.claim_commands([node.pk], "gateway-1", clock.now())
    assert stop.kind == "stop"
    ended(job, result="stopped", exit_code=None)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert Device.objects.get().used_share_bp == 0


def test_requeue_retry_clone_priority(actors, scheduler):
    factories.make_node(devices=1)
    job = submit(actors)
    scheduler.sweep()
    services.requeue_job(actors.member_a, job)
    assert job.state == JobState.QUEUED
    assert Device.objects.get().used_share_bp == 0
    with pytest.raises(Conflict):
        services.retry_job(actors.member_a, job)
    services.set_priority(actors.member_a, job, 5)
    services.cancel_job(actors.member_a, job)
    services.retry_job(actors.member_a, job)
    assert (job.state, job.priority) == (JobState.QUEUED, 5)
    copy = services.clone_job(actors.member_a, job, {"name": "again"})
    assert (copy.name, copy.cloned_from_id, copy.spec["roles"]) == ("again", job.pk, job.spec["roles"])


def test_max_duration_is_counted_by_the_server(actors, scheduler):
    factories.make_node(devices=1)
    job = submit(actors, max_duration=60)
    scheduler.sweep()
    services.claim_commands([n.pk for n in Node.objects.all()], "g", clock.now())
    started(job)
    job.refresh_from_db()
    assert services.expire_jobs(job.started_at + timedelta(seconds=59)) == 0
    assert services.expire_jobs(job.started_at + timedelta(seconds=60)) == 1
    ended(job, result="stopped", exit_code=None)
    job.refresh_from_db()
    assert job.state == JobState.EXPIRED


def test_failed_attempts_are_retried_as_often_as_asked(actors, scheduler):
    factories.make_node(devices=1)
    job = submit(actors, max_retries=1)
    for state in (JobState.QUEUED, JobState.FAILED):
        scheduler.sweep()
        started(job)
        ended(job, result="failed", exit_code=1)
        job.refresh_from_db()
        assert job.state == state
    assert job.attempt_count == 2


def test_lost_node_closes_the_clock_at_the_last_proof_of_life(actors, scheduler):
    node = factories.make_node(devices=1)
    job = submit(actors)
    scheduler.sweep()
    started(job)
    interval = Interval.objects.get(job=job)
    proof = interval.started_at + timedelta(seconds=7)
    lost = services.replicas_lost(node.pk, last_proof_at=proof, now=proof + timedelta(seconds=40), reason="silent")
    interval.refresh_from_db()
    job.refresh_from_db()
    assert (lost, interval.ended_at, job.state) == (1, proof, JobState.QUEUED)


def test_old_epoch_is_fenced(actors, scheduler):
    factories.make_node(devices=1)
    job = submit(actors)
    later = clock.now() + timedelta(seconds=120)
    assert lease.acquire(lease_name(), "other", timedelta(seconds=5), later) == scheduler.epoch + 1
    with pytest.raises(Conflict):
        scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == JobState.QUEUED
    assert not Allocation.objects.exists()


def test_limits_hold_and_are_explained(actors, scheduler):
    factories.make_node(devices=4)
    actors.a.queues.update(limit_share_bp=10000)
    first, second = submit(actors), submit(actors)
    scheduler.sweep()
    assert Job.objects.get(pk=first.pk).state == JobState.STARTING
    assert Job.objects.get(pk=second.pk).state == JobState.QUEUED
    reasons = second.decisions.get().reasons
    assert reasons["limit"]["scope"] == "queue"
    assert reasons["limit"]["used"] == 10000


def test_what_can_never_run_is_refused_at_submit(actors):
    factories.make_node(devices=2)
    with pytest.raises(InvalidInput) as caught:
        submit(actors, gpus=1, replicas=3)
    assert caught.value.errors[0].field in {"replicas", "min_member"}
    assert not Job.objects.exists()


def test_dry_run_says_where_and_what_bites(actors):
    factories.make_node(name="n1", devices=2)
    actors.a.queues.update(limit_share_bp=15000)
    run = services.dry_run(actors.member_a, {"name": "x", "command": ["a"], "gpus": 2})
    assert not run.fits
    assert (run.blocked_by_limit, run.bites_first.scope) == (True, "queue")
    assert {part.node for part in run.placements} == {"n1"}
    assert not Job.objects.exists()


def test_a_profile_that_no_card_has_is_named(actors):
    factories.make_node(devices=2)
    with pytest.raises(InvalidInput) as caught:
        submit(actors, mig_profile="1g.10gb")
    assert caught.value.errors[0].field == "mig_profile"
    assert "MIG mode" in caught.value.errors[0].message


@pytest.mark.parametrize("asked", [{"gpus": 1}, {"gpu_fraction": 0.5}])
def test_a_pool_whose_cards_are_all_in_mig_mode_says_so(actors, asked):
    node = factories.make_node(devices=2, mig=True)
    with pytest.raises(InvalidInput) as caught:
        submit(actors, **asked)
    assert caught.value.errors[0].field == "isolation"
    assert "MIG mode" in caught.value.errors[0].message
    set_mig_enabled(actors.operator, node.devices.get(index=0), False)
    admission.shared.__init__()  # what a process knows of the hardware is half a second old
    assert submit(actors, **asked).state == JobState.QUEUED
