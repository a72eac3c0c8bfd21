"""What nodes tell of checkpoints: kept by the true time, answered to who asks what a stop would lose."""

from datetime import timedelta

from pool.nodes.checkpoints import of_jobs
from pool.nodes.services import apply_news
from pool.scheduling import ports
from pool.scheduling.services import requeue_job
from tests.nodes.running import wait_for
from tests.nodes.test_run import output_of
from tests.nodes.test_times import news, placed
from tests.nodes.work import interval_of, reaches, replica_of

MINUTE = timedelta(minutes=1)


def saved(replica, at, age=timedelta(0), number=1):
    return news("checkpoint", replica, at, age // timedelta(microseconds=1), number=number)


def test_the_last_one_counts_by_when_it_happened(calm, bench):
    _, job, replica = placed(calm, bench)
    assert of_jobs([job.pk]) == {}
    began = interval_of(job).started_at
    apply_news([news("started", replica, began + timedelta(seconds=7), 0)])
    apply_news([saved(replica, began + 6 * MINUTE, age=MINUTE)])
    apply_news([saved(replica, began + 9 * MINUTE, age=6 * MINUTE)])  # late news of an earlier one
    assert of_jobs([job.pk]) == {job.pk: ports.Checkpoint(began + 5 * MINUTE, restart_s=7)}
    assert ports.checkpoints([job.pk]) == of_jobs([job.pk])  # the port is plugged in
    apply_news([saved(replica, began + 10 * MINUTE)])
    assert of_jobs([job.pk])[job.pk].at == began + 10 * MINUTE


def test_no_checkpoint_is_older_than_its_replica_and_unknown_ones_are_ignored(calm, bench):
    _, job, replica = placed(calm, bench)
    began = interval_of(job).started_at
    apply_news([saved(replica, began + MINUTE, age=timedelta(days=9)), saved("rep_of_nobody", began)])
    assert of_jobs([job.pk])[job.pk].at == replica_of(job).assigned_at


def test_over_the_wire_it_is_confirmed_by_its_number(calm, bench):
    wire, job, replica = placed(calm, bench)
    wire.send({"type": "checkpoint", "replica": replica, "age_us": 5, "number": 41})
    noted = wire.until("noted")
    assert (noted["replica"], noted["event"], noted["number"]) == (replica, "checkpoint", 41)
    assert job.pk in of_jobs([job.pk])


def test_a_real_agent_is_asked_and_tells(gateway, bench, agents):
    """A requeue is planned: the signal first, then the end, and the server knows of the save."""
    agents(gateway.address)
    script = "trap 'touch $WEIR_CHECKPOINT_FILE' USR1; echo ready; while :; do sleep 0.02; done"
    job = bench.shell(script, checkpoint={"signal": "USR1", "grace_s": 100})
    reaches(job, "running")
    wait_for(lambda: output_of(job) == b"ready\n", "its trap is set")
    requeue_job(bench.actor, job)
    reaches(job, "queued")
    assert replica_of(job).exit_detail == "requeue"
    assert job.pk in of_jobs([job.pk])
